"""A login server (OAuth 2.1), as far as MCP asks for one: `login_server.Login(origin, folder)`.

It stands on the same origin as the MCP server that uses it. Whoever opens its login page is logged in, unless there is a
file FOLDER/deny. While there is a file FOLDER/needs, what it says are the rights that a token must give. Access tokens live
for FOLDER/life seconds, an hour if there is no such file. A refresh token is good for one refresh, and each refresh adds a
line to FOLDER/refreshes. Who asks for a token takes a line from FOLDER/hang-up, if there is one, and gets no answer. Needs
Python 3 alone.
"""

import base64
import hashlib
import json
import os
import secrets
import threading
import time
from urllib.parse import parse_qs, urlencode, urlsplit


class Login:
    def __init__(self, origin, folder, takes_strangers=True):
        self.origin, self.folder, self.takes_strangers = origin, folder, takes_strangers
        self.lock = threading.Lock()
        self.clients, self.codes, self.tokens, self.refreshes = {"known": None}, {}, {}, {}

    def path(self, name):
        return os.path.join(self.folder, name)

    def challenge(self):
        return f'Bearer resource_metadata="{self.origin}/.well-known/oauth-protected-resource/mcp", scope="notes"'

    def lets_in(self, authorization):
        """Whether this is what somebody shows who is logged in."""
        with self.lock:
            kind, _, token = (authorization or "").partition(" ")
            return kind == "Bearer" and self.tokens.get(token, (0,))[0] > time.time()

    def lacks(self, authorization):
        """The rights that are needed, if this does not give them all; none if it does."""
        if not os.path.exists(self.path("needs")):
            return None
        with open(self.path("needs")) as file:
            needed = file.read()
        token = (authorization or "").partition(" ")[2]
        return None if set(needed.split()) <= set(self.tokens[token][1].split()) else needed

    def forget(self):
        """Forgets all access tokens where FOLDER/forget-login is made, and all refresh tokens too where that says `all`."""
        with self.lock:
            if not os.path.exists(self.path("forget-login")):
                return
            with open(self.path("forget-login")) as file:
                if "all" in file.read():
                    self.refreshes.clear()
            self.tokens.clear()
            os.remove(self.path("forget-login"))

    def hangs_up(self, target):
        """Whether this request gets no answer, as where a connection was about to be closed."""
        with self.lock:
            if target != "/token" or not os.path.exists(self.path("hang-up")):
                return False
            with open(self.path("hang-up")) as file:
                left = file.readlines()
            with open(self.path("hang-up"), "w") as file:
                file.writelines(left[1:])
            return bool(left)

    def get(self, target):
        """Status, headers and body for a GET; none if the page is not ours."""
        url = urlsplit(target)
        if url.path.startswith("/.well-known/oauth-protected-resource"):
            page = {"resource": f"{self.origin}/mcp", "authorization_servers": [self.origin], "scopes_supported": ["notes"]}
            return 200, {}, page
        if url.path == "/.well-known/oauth-authorization-server":
            page = {
                "issuer": self.origin,
                "authorization_endpoint": f"{self.origin}/authorize",
                "token_endpoint": f"{self.origin}/token",
                "response_types_supported": ["code"],
                "grant_types_supported": ["authorization_code", "refresh_token"],
                "code_challenge_methods_supported": ["S256"],
                "token_endpoint_auth_methods_supported": ["none"],
                "scopes_supported": ["notes"],
            }
            if self.takes_strangers:
                page["registration_endpoint"] = f"{self.origin}/register"
            return 200, {}, page
        if url.path != "/authorize":
            return None
        asked = {name: values[0] for name, values in parse_qs(url.query).items()}
        wanted = ("client_id", "redirect_uri", "state", "code_challenge", "resource")
        if any(name not in asked for name in wanted) or asked["code_challenge_method"] != "S256":
            return 400, {}, {"error": "invalid_request"}
        redirect = self.clients.get(asked["client_id"], "unknown")
        if redirect is not None and asked["redirect_uri"] != redirect:
            return 400, {}, {"error": "invalid_request"}
        back = {"state": asked["state"]}
        if os.path.exists(self.path("deny")):
            back.update(error="access_denied", error_description="Ann said no")
        else:
            back["code"] = secrets.token_hex(8)
            with self.lock:
                self.codes[back["code"]] = asked
        return 302, {"Location": f"{asked['redirect_uri']}?{urlencode(back)}"}, {}

    def post(self, target, body):
        """Status, headers and body for a POST; none if the page is not ours."""
        if target == "/register" and self.takes_strangers:
            asked = json.loads(body)
            identifier = secrets.token_hex(4)
            self.clients[identifier] = asked["redirect_uris"][0]
            return 201, {}, {"client_id": identifier, "redirect_uris": asked["redirect_uris"]}
        if target != "/token":
            return None
        asked = {name: values[0] for name, values in parse_qs(body.decode()).items()}
        refused = 400, {}, {"error": "invalid_grant"}
        with self.lock:
            if asked.get("resource") != f"{self.origin}/mcp" or asked.get("client_id") not in self.clients:
                return 400, {}, {"error": "invalid_request"}
            if asked["grant_type"] == "authorization_code":
                given = self.codes.pop(asked["code"], None)
                challenge = hashlib.sha256(asked.get("code_verifier", "").encode()).digest()
                challenge = base64.urlsafe_b64encode(challenge).decode().rstrip("=")
                if given is None or given["code_challenge"] != challenge or given["client_id"] != asked["client_id"]:
                    return refused
                scope = given.get("scope", "")
            else:
                with open(self.path("refreshes"), "a") as file:
                    file.write("refresh\n")
                # As slow as some are, so that others want it too meanwhile.
                time.sleep(0.3)
                if asked["refresh_token"] not in self.refreshes:
                    return refused
                scope = self.refreshes.pop(asked["refresh_token"])
            token, refresh = secrets.token_hex(8), secrets.token_hex(8)
            life = 3600
            if os.path.exists(self.path("life")):
                with open(self.path("life")) as file:
                    life = float(file.read())
            self.tokens[token] = time.time() + life, scope
            self.refreshes[refresh] = scope
            given = {"access_token": token, "token_type": "Bearer", "expires_in": int(life), "refresh_token": refresh}
            return 200, {}, given
