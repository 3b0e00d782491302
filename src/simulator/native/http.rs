//! The native `http` functions: requests and sockets, answered by events.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use mlua::{Lua, Table, Value};

use super::host::Host;
use super::section::{Args, Problem, Section};
use crate::simulator::address::{Address, Scheme};
use crate::simulator::exchange::{HttpRequest, HttpResponse};
use crate::simulator::handshake::Handshake;
use crate::simulator::http::{check, request};
use crate::simulator::socket::{Socket, SocketRules};
use crate::simulator::websocket::open;

const METHODS: [&str; 8] = [
    "GET", "POST", "HEAD", "OPTIONS", "PUT", "DELETE", "PATCH", "TRACE",
];

pub(super) fn add(section: &Section<'_>, host: &Rc<Host>) -> mlua::Result<()> {
    section.set("enabled", host.options.http.enabled)?;
    add_requests(section, host)?;
    add_sockets(section, host)
}

/// The n-th argument as seconds, or the usual timeout.
fn timeout(args: &Args, n: usize, host: &Host) -> Result<Duration, Problem> {
    if args.is_nil(n) {
        return Ok(host.options.limits.http_timeout);
    }
    match args.finite(n)? {
        seconds @ 0.0..=60.0 => Ok(Duration::from_secs_f64(seconds)),
        _ => Err("timeout out of range (between 0.0 and 60.0)".into()),
    }
}

fn table_of(lua: &Lua, headers: &[(String, String)]) -> mlua::Result<Table> {
    lua.create_table_from(
        headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str())),
    )
}

fn add_requests(section: &Section<'_>, host: &Rc<Host>) -> mlua::Result<()> {
    let owner = Rc::clone(host);
    // request(url, method, headers, body, redirect, timeout): begins it; false and why if it can't begin.
    section.add("request", move |_, args| {
        let url = args.text(1)?;
        let method = args.text(2)?.to_ascii_uppercase();
        if !METHODS.contains(&method.as_str()) {
            return Err("Unsupported HTTP method".into());
        }
        let body = if args.is_nil(4) {
            None
        } else {
            Some(args.bytes(4)?)
        };
        let headers = args.headers(3)?;
        let timeout = timeout(&args, 6, &owner)?;
        if let Err(problem) = Address::parse(&url, Scheme::Http) {
            return Ok((false, Some(problem)));
        }
        let asked = HttpRequest {
            url,
            method,
            headers,
            body,
            redirect: args.truthy(5),
            timeout,
        };
        let version = owner.options.version.clone();
        request(
            &owner.runtime,
            &owner.events,
            &owner.requests,
            owner.options.http,
            version,
            asked,
        );
        Ok((true, None))
    })?;
    let owner = Rc::clone(host);
    section.add("checkURL", move |_, args| {
        let url = args.text(1)?;
        if let Err(problem) = Address::parse(&url, Scheme::Http) {
            return Ok((false, Some(problem)));
        }
        check(&owner.runtime, &owner.events, owner.options.http, url);
        Ok((true, None))
    })?;
    section.add("response", |lua, args| {
        let Value::UserData(response) = args.get(1) else {
            return Err(args.wrong(1, "response"));
        };
        let response = response.borrow::<Arc<HttpResponse>>()?;
        let body = lua.create_string(&response.body)?;
        Ok((
            f64::from(response.status),
            response.reason.clone(),
            table_of(lua, &response.headers)?,
            body,
        ))
    })
}

fn with_socket<R>(
    args: &Args,
    work: impl FnOnce(&Socket) -> Result<R, Problem>,
) -> Result<R, Problem> {
    let Value::UserData(socket) = args.get(1) else {
        return Err(args.wrong(1, "websocket"));
    };
    work(&socket.borrow::<Arc<Socket>>()?.clone())
}

fn add_sockets(section: &Section<'_>, host: &Rc<Host>) -> mlua::Result<()> {
    let owner = Rc::clone(host);
    // websocket(url, headers, timeout): begins to connect; false and why if it can't begin.
    section.add("websocket", move |_, args| {
        let handshake = Handshake {
            url: args.text(1)?,
            headers: args.headers(2)?,
            timeout: timeout(&args, 3, &owner)?,
        };
        if !owner.options.http.websockets {
            return Err("Websocket connections are disabled".into());
        }
        if let Err(problem) = Address::parse(&handshake.url, Scheme::WebSocket) {
            return Ok((false, Some(problem)));
        }
        let options = &owner.options;
        let rules = SocketRules {
            version: options.version.clone(),
            http: options.http,
            message_bytes: options.limits.message_bytes,
        };
        let limit = options.limits.websockets;
        open(
            &owner.runtime,
            &owner.events,
            &owner.slots,
            limit,
            rules,
            handshake,
        )?;
        Ok((true, None))
    })?;
    section.add("socketSend", |_, args| {
        let bytes = match args.get(2) {
            Value::String(text) => text.as_bytes().to_vec(),
            other => other.to_string()?.into_bytes(),
        };
        with_socket(&args, |socket| Ok(socket.send(&bytes, args.truthy(3))?))
    })?;
    section.add("socketClose", |_, args| {
        with_socket(&args, |socket| {
            socket.close();
            Ok(())
        })
    })?;
    section.add("socketIsOpen", |_, args| {
        with_socket(&args, |socket| Ok(socket.is_open()))
    })?;
    section.add("socketURL", |_, args| {
        with_socket(&args, |socket| Ok(socket.url().to_owned()))
    })?;
    section.add("socketHeaders", |lua, args| {
        with_socket(&args, |socket| Ok(table_of(lua, socket.headers())?))
    })
}
