//! What computers notice of the world around them: what is attached, redstone, and a turtle's own slots.

use std::collections::BTreeMap;
use std::mem;

use super::body::Body;
use super::data::event;
use super::scene::Scene;
use super::{attachments, redstone};

/// Tells computers what has changed around them.
pub(super) fn settle(scene: &mut Scene) {
    let touched = mem::take(&mut scene.touched);
    if !touched.is_empty() {
        let is_near = |body: &Body| {
            body.socket.is_some() || touched.iter().any(|place| place.touches(body.at))
        };
        let near: Vec<u64> = scene
            .bodies
            .values()
            .filter(|body| is_near(body))
            .map(|body| body.id)
            .collect();
        for id in near {
            notice_attachments(scene, id);
        }
        redstone::update(scene);
    }
    for id in mem::take(&mut scene.carried) {
        let Some(body) = scene.bodies.get_mut(&id) else {
            continue;
        };
        if body.told != body.inventory {
            body.told = body.inventory.clone();
            scene.tell(id, event("turtle_inventory", Vec::new()));
        }
    }
}

/// Has every computer know what is attached to it, without telling of it.
pub(super) fn look_around(scene: &mut Scene) {
    let ids: Vec<u64> = scene.bodies.keys().copied().collect();
    for id in ids {
        notice_attachments(scene, id);
    }
    scene.notes.clear();
}

/// Tells a computer what was attached to it and what is no more.
fn notice_attachments(scene: &mut Scene, id: u64) {
    let Some(body) = scene.bodies.get(&id) else {
        return;
    };
    let now: BTreeMap<String, String> = attachments::names(scene, body)
        .into_iter()
        .filter_map(|name| {
            let target = attachments::find(scene, body, &name)?;
            Some((name, attachments::signature(scene, &target)))
        })
        .collect();
    let Some(body) = scene.bodies.get_mut(&id) else {
        return;
    };
    let before = mem::replace(&mut body.attached, now.clone());
    let gone = before
        .iter()
        .filter(|(name, what)| now.get(*name) != Some(what));
    for (name, _) in gone {
        scene.tell(id, event("peripheral_detach", vec![name.as_str().into()]));
    }
    let come = now
        .iter()
        .filter(|(name, what)| before.get(*name) != Some(what));
    for (name, _) in come {
        scene.tell(id, event("peripheral", vec![name.as_str().into()]));
    }
}
