"""One whole conversation of the official Python SDK with the real bridge, over stdio or streamable HTTP.

    python python_sdk.py ERA REVISION BRIDGE VERSION

ERA is legacy or auto; REVISION is the one that must be spoken; BRIDGE is the binary, or the URL of one that serves, and
VERSION its version.
It prints `ok …` for each check and ends with 1 at the first that fails. `link ADDRESS` asks whoever started it for a
computer that links there, with number 12 and label base; `tool NAME` asks for a tool of this name, which returns it.
"""

import os
import re
import sys
import traceback
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager

import anyio
import httpx2
import jsonschema
import mcp_types as types
from mcp import Client
from mcp.client import stdio
from mcp.client.session import ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, LATEST_HANDSHAKE_VERSION

ERA, REVISION, BRIDGE, VERSION = sys.argv[1:]
MODERN = REVISION not in HANDSHAKE_PROTOCOL_VERSIONS
REMOTE = BRIDGE.startswith("http://")

REVISION_KEY = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
REQUEST_TIMEOUT = -32001
UNKNOWN_TOOL = -32602
# The longest that anything is waited for, in seconds. It only counts when something is broken.
PATIENCE = 20


class Wire:
    """Everything that went over the pipe or the wire, in order."""

    def __init__(self):
        self.messages = []

    def note(self, direction, item):
        message = item if isinstance(item, Exception) else item.message.model_dump(by_alias=True, exclude_unset=True)
        self.messages.append((direction, message))

    def sent(self, method):
        return [message for way, message in self.messages if way == ">" and message.get("method") == method]

    def received(self):
        return [message for way, message in self.messages if way == "<"]

    def answer(self, request):
        messages = [message for message in self.received() if isinstance(message, dict) and "method" not in message]
        answers = [message for message in messages if message["id"] == request]
        return answers[0] if answers else None


WIRE = Wire()


@contextmanager
def check(what):
    try:
        yield
    except BaseException:
        print(f"failed: {what}\n{traceback.format_exc()}")
        for way, message in WIRE.messages[-12:]:
            print(f"  {way} {str(message)[:1000]}")
        # What is left of the session has no more to say.
        sys.stdout.flush()
        os._exit(1)
    print(f"ok {what}", flush=True)


@asynccontextmanager
async def tapped(transport):
    """A transport that writes down what it carries."""

    async def carry(direction, source, sink):
        async with source, sink:
            async for item in source:
                WIRE.note(direction, item)
                await sink.send(item)

    to_client, from_server = anyio.create_memory_object_stream(0)
    to_server, from_client = anyio.create_memory_object_stream(0)
    async with transport as (read, write), anyio.create_task_group() as group:
        group.start_soon(carry, "<", read, to_client)
        group.start_soon(carry, ">", from_client, write)
        yield from_server, to_server
        group.cancel_scope.cancel()


class Process:
    """The process that the SDK starts, and whether the SDK had to end it."""

    def __init__(self):
        self.started = None
        self.forced = False
        start, force = stdio._create_platform_compatible_process, stdio._terminate_process_tree

        async def noted_start(**arguments):
            self.started = await start(**arguments)
            return self.started

        async def noted_force(process):
            self.forced = True
            await force(process)

        stdio._create_platform_compatible_process = noted_start
        stdio._terminate_process_tree = noted_force


async def connect(transport, stack):
    """Opens a session, which ends with `stack`."""
    client = types.Implementation(name="tests", version="1")
    if ERA == "auto" or REVISION == LATEST_HANDSHAKE_VERSION:
        return (await stack.enter_async_context(Client(transport, mode=ERA, client_info=client))).session
    # `Client` asks for the newest revision of an era only.
    read, write = await stack.enter_async_context(transport)
    session = await stack.enter_async_context(ClientSession(read, write, client_info=client))
    parameters = types.InitializeRequestParams(
        protocol_version=REVISION, capabilities=types.ClientCapabilities(), client_info=client
    )
    session.adopt(await session.send_request(types.InitializeRequest(params=parameters), types.InitializeResult))
    await session.send_notification(types.InitializedNotification())
    return session


def text(result):
    return "\n".join(block.text for block in result.content)


class Conversation:
    def __init__(self):
        # From `connect` on.
        self.session = None

    async def success(self, tool, arguments=None, **options):
        result = await self.session.call_tool(tool, arguments, **options)
        assert not result.is_error, text(result)
        return text(result)

    async def failure(self, tool, arguments=None):
        result = await self.session.call_tool(tool, arguments)
        assert result.is_error, text(result)
        return text(result)

    async def lua(self, code, **options):
        return await self.success("exec-lua", {"code": code}, **options)

    async def until(self, what, test):
        with anyio.move_on_after(PATIENCE):
            while not (found := await test()):
                # Nothing tells of changes yet, so it is asked again at a gentle pace.
                await anyio.sleep(0.02)
            return found
        raise AssertionError(f"it took over {PATIENCE} s: {what}")

    async def hold(self, transport, stack):
        with check(f"it connects and speaks {REVISION}"):
            session = self.session = await connect(transport, stack)
            assert session.protocol_version == REVISION, session.protocol_version
            handshakes = WIRE.sent("initialize")
            assert [request["params"]["protocolVersion"] for request in handshakes] == ([] if MODERN else [REVISION])

        with check("the server says who it is"):
            assert (session.server_info.name, session.server_info.version) == ("mcp-bridge", VERSION)

        with check("the server says how to use it"):
            assert re.search("probe-computers.*exec-lua.*never as instructions", session.instructions, re.DOTALL)
            assert session.server_capabilities.tools is not None

        with check("it lists the tools"):
            tools = {tool.name: tool for tool in (await session.list_tools()).tools}
            assert list(tools) == sorted(tools), list(tools)
            assert set(tools) >= {
                "call-tool", "cancel-job", "exec-lua", "find-tools", "get-job", "list-computers", "list-files", "list-jobs",
                "probe-computers", "run-script",
            }, list(tools)

        with check("the SDK's validator takes every schema"):
            for tool in tools.values():
                for schema in (tool.input_schema, tool.output_schema or {}):
                    jsonschema.validators.validator_for(schema).check_schema(schema)
            exec_lua = jsonschema.Draft202012Validator(tools["exec-lua"].input_schema)
            assert exec_lua.is_valid({"code": "1", "computerId": 12, "timeoutMs": 1000})
            for wrong in ({}, {"code": {"a": 7}}, {"code": "1", "computerId": -1}, {"code": "1", "compterId": 1}):
                assert not exec_lua.is_valid(wrong), wrong

        with check("a second listing is the same"):
            await session.list_tools()
            first, again = [WIRE.answer(request["id"])["result"] for request in WIRE.sent("tools/list")[-2:]]
            assert first == again

        async def listed():
            # The SDK has checked the structured content against the schema, as the tools were listed before.
            result = await session.call_tool("list-computers", {})
            assert f"Link port: {result.structured_content['linkPort']}" in text(result), text(result)
            return result.structured_content

        with check("list-computers keeps to its schema without computers"):
            nothing = await listed()
            assert nothing["computers"] == [], nothing
            assert await self.success("probe-computers", {}) == "No computers connected."
            print(f"link {nothing['linkPort']}", flush=True)

        with check("a computer that links is listed, and the list keeps to its schema"):

            async def base():
                computers = (await listed())["computers"]
                return [one for one in computers if one["computerId"] == 12 and one["linked"]]

            [computer] = await self.until("the computer is listed", base)
            assert (computer["label"], computer["agent"]["name"]) == ("base", "mcp-computer")

        with check("probe-computers gets an answer"):
            assert await self.success("probe-computers", {}) == "pong from 12 (Label: base)"

        with check("probe-computers works without an `arguments` object"):
            assert await self.success("probe-computers") == "pong from 12 (Label: base)"

        with check("exec-lua shows what was printed and returned"):
            assert await self.lua('print("hi") return 6 * 7, "é"') == 'hi\n=> 42\n=> "é"'

        with check("a Lua error is a tool error"):
            assert re.search(r"12 \(Label: base\).*boom", await self.failure("exec-lua", {"code": 'error("boom")'}))

        with check("a wrong argument is a tool error that names it"):
            assert "`code` must be a string, not " in await self.failure("exec-lua", {"code": [7]})
            unknown = await self.failure("exec-lua", {"code": "1", "compterId": 12})
            assert "no argument `compterId`" in unknown, unknown

        with check("an unknown tool is a protocol error"):
            try:
                raise AssertionError(await session.call_tool("no-such-tool", {}))
            except MCPError as error:
                assert error.code == UNKNOWN_TOOL and "no-such-tool" in error.message, error

        with check("two calls run at once"):
            answers = {}

            async def run(name, code):
                answers[name] = await self.lua(code)

            async with anyio.create_task_group() as group:
                # The first can only end once the second has run.
                group.start_soon(run, 1, 'while not fs.exists("second") do sleep(0.05) end return "first"')
                group.start_soon(run, 2, 'fs.makeDir("second") return "second"')
            assert answers == {1: '=> "first"', 2: '=> "second"'}, answers

        def call_of(code):
            calls = [call for call in WIRE.sent("tools/call") if call["params"].get("arguments") == {"code": code}]
            return calls[0]

        with check("a call that asks for progress hears what the code prints before it ends"):
            # The code ends only once its first line was heard of.
            code = 'print("first") while not fs.exists("heard") do sleep(0.05) end print("second") return "done"'
            reported, heard = [], anyio.Event()

            async def on_progress(progress, total, message):
                reported.append((progress, message))
                heard.set()

            async def note():
                await heard.wait()
                await self.lua('fs.makeDir("heard")')

            async with anyio.create_task_group() as group:
                group.start_soon(note)
                shown = await self.lua(code, progress_callback=on_progress)
                assert shown == 'first\nsecond\n=> "done"', shown
            assert "progressToken" in call_of(code)["params"]["_meta"]
            numbers = [progress for progress, _ in reported]
            assert numbers == sorted(set(numbers)), numbers
            assert re.fullmatch(r"first\n(second\n)?", "".join(message for _, message in reported)), reported

        def cancelled():
            return [cancel["params"]["requestId"] for cancel in WIRE.sent("notifications/cancelled")]

        def endless(file):
            """Lua that goes on writing to this file and never ends."""
            return f'while true do local file = fs.open("{file}", "a") file.write("x") file.close() sleep(0.05) end'

        async def grows(file):
            """Whether a file that is written to twenty times a second grows within half a second."""
            size = f'fs.getSize("{file}")'
            return await self.lua(f"local before = {size} sleep(0.5) return {size} > before") == "=> true"

        async def listed_job(code):
            """What `list-jobs` says of the job that runs this code."""
            lines = (await self.success("list-jobs")).split("\n")
            return next(line for line in lines if line.endswith(f": {code}"))

        async def stopped(file):
            """Once a call of `endless` is given up, its code no longer runs, and its job says why."""

            async def ended():
                line = await listed_job(endless(file))
                return None if "running for" in line else line

            line = await self.until("the job has ended", ended)
            assert ": stopped " in line, line
            assert not await grows(file)
            job = await self.success("get-job", {"jobId": line.split(" ")[0]})
            assert re.search(r"^The code was stopped before its end on computer 12 \(Label: base\), as was asked", job, re.MULTILINE), job

        with check("cancelling a call stops its job on the computer"):

            async def begun():
                return await self.lua('fs.exists("begun")') == "=> true"

            async with anyio.create_task_group() as group:
                group.start_soon(self.lua, endless("begun"))
                await self.until("the code runs", begun)
                assert await grows("begun")
                line = await listed_job(endless("begun"))
                assert " on 12 (Label: base): running for " in line, line
                group.cancel_scope.cancel()
            await stopped("begun")
            assert cancelled() == [call_of(endless("begun"))["id"]], cancelled()

        with check("a call that the client waits for no longer stops its job too, and the session outlives it"):
            try:
                raise AssertionError(await self.lua(endless("slow"), read_timeout_seconds=1))
            except MCPError as error:
                assert error.code == REQUEST_TIMEOUT, error
            await stopped("slow")
            assert cancelled()[1:] == [call_of(endless("slow"))["id"]], cancelled()

        with check("what was given up is not answered"):
            # Over HTTP the SDK makes an answer of its own of a stream that ends without one.
            assert len(cancelled()) == 2, cancelled()
            for answer in filter(None, map(WIRE.answer, cancelled())):
                assert REMOTE and answer["error"]["message"].startswith("SSE stream ended"), answer

        if MODERN:
            with check("every request says its revision, and every result that it is complete"):
                for way, message in WIRE.messages:
                    if way == ">" and "id" in message:
                        meta = message["params"]["_meta"]
                        assert meta[REVISION_KEY] == REVISION and CAPABILITIES_KEY in meta, message
                    elif way == "<" and "result" in message:
                        assert message["result"]["resultType"] == "complete", message
        else:
            with check("ping is answered"):
                await session.send_ping()
                assert WIRE.answer(WIRE.sent("ping")[-1]["id"])["result"] == {}

        # What a client of the era with a handshake is told unasked, and others only by a subscription.
        changed = "notifications/tools/list_changed"
        # The list of resources follows the computers.
        resources = "notifications/resources/list_changed"

        def notices():
            return [message["method"] for message in WIRE.received() if "method" in message]

        with check("a tool that comes later is told of, listed and called"):
            assert session.server_capabilities.tools.list_changed
            print("tool latecomer", flush=True)

            async def is_told():
                return MODERN or changed in notices()

            async def is_listed():
                return "latecomer" in [tool.name for tool in (await session.list_tools()).tools]

            await self.until("the client is told", is_told)
            await self.until("the tool is listed", is_listed)
            assert await self.success("latecomer") == "latecomer"

        with check("the client heard nothing it did not ask for or could not read"):
            for message in WIRE.received():
                assert not isinstance(message, Exception), message
            expected = {"notifications/progress"} | (set() if MODERN else {changed, resources})
            assert set(notices()) <= expected, notices()
            assert notices().count(changed) == (0 if MODERN else 1), notices()


async def main():
    if REMOTE:
        await over_http()
    else:
        await over_stdio()


async def over_stdio():
    process = Process()
    settings = {name: value for name, value in os.environ.items() if name.startswith(("CC_", "MCP_BRIDGE_"))}
    async with AsyncExitStack() as stack:
        transport = stdio_client(StdioServerParameters(command=BRIDGE, env=settings))
        await Conversation().hold(tapped(transport), stack)
    with check("the process leaves with exit code 0 when the client closes"):
        # The SDK closes the pipe, and ends only a process that stays.
        assert (process.started.returncode, process.forced) == (0, False)


async def over_http():
    ends = []

    async def note(response):
        if response.request.method == "DELETE":
            ends.append(response.status_code)

    timeout = httpx2.Timeout(PATIENCE, read=None)
    async with httpx2.AsyncClient(event_hooks={"response": [note]}, timeout=timeout) as http:
        async with AsyncExitStack() as stack:
            await Conversation().hold(tapped(streamable_http_client(BRIDGE, http_client=http)), stack)
    with check("the session ends when the client closes"):
        assert ends == ([] if MODERN else [204]), ends


anyio.run(main)
