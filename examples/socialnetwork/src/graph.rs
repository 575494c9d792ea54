//! The initial data: users, follower graph and posts.

use accelflow_storage::{MAX_KEYS, Storage};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;
use serde_json::{Value, json};

use crate::load::Gun;
use crate::requests::{Kind, USERS};
use crate::services;
use crate::site::Site;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Degrees of socfb-Reed98 (962 nodes, 18,812 edges: median 29, 90th percentile 87, 99th 157,
/// maximum 313), interpolated linearly. The graph here is generated, and has the same size.
const DEGREES: [(f64, f64); 5] = [
    (0.0, 1.0),
    (0.5, 29.0),
    (0.9, 87.0),
    (0.99, 157.0),
    (1.0, 313.0),
];

/// Posts of each user, unless another number is asked for.
pub(crate) const POSTS: u64 = 4;

/// The largest number of posts of each user.
pub(crate) const MAX_POSTS: u64 = 1_000;

/// The number of concurrent writers.
const WRITERS: usize = 16;

/// Registers the users through the services, and writes the graph and `posts` posts of each user to
/// the storage.
pub(crate) fn load(site: &Site, seed: u64, posts: u64) -> Result<(), Failure> {
    let storage = services::storage(site)?;
    let writers = rayon::ThreadPoolBuilder::new()
        .num_threads(WRITERS)
        .build()?;
    let followers = followers(seed);
    writers.install(|| {
        (0..USERS).into_par_iter().try_for_each_init(
            || Gun::new(site.clone()),
            |gun, user| -> Result<(), Failure> {
                let gun = gun.as_mut().map_err(|error| error.to_string())?;
                register(gun, user)?;
                // Symmetric, so that this user is on the lists of all whose lists have him.
                let own = &followers[user as usize];
                add(&storage, "followers", own, user)?;
                add(&storage, "followees", own, user)
            },
        )?;
        (0..USERS * posts)
            .into_par_iter()
            .try_for_each(|number| post(&storage, number, &followers))
    })
}

fn register(gun: &mut Gun, user: u64) -> Result<(), Failure> {
    let arguments = json!({"req_id": user, "first_name": format!("first_name_{user}"),
        "last_name": format!("last_name_{user}"), "username": format!("username_{user}"),
        "password": format!("password_{user}"), "user_id": user, "carrier": {}});
    gun.call(Kind::Register, &arguments)
}

/// Adds an item to the lists of some users.
fn add(storage: &Storage, collection: &str, users: &[u64], item: u64) -> Result<(), Failure> {
    for users in users.chunks(MAX_KEYS) {
        let keys: Vec<String> = users.iter().map(u64::to_string).collect();
        storage.write(collection, &keys.join(","), item.to_string().as_bytes())?;
    }
    Ok(())
}

/// Stores a post, and adds it to the timelines of its author and of the author's followers.
fn post(storage: &Storage, number: u64, followers: &[Vec<u64>]) -> Result<(), Failure> {
    let user = number % USERS;
    let mut post: Value = Kind::StorePost.arguments(number)?["post"].take();
    post["post_id"] = json!(number + 1);
    post["creator"] = json!({"user_id": user, "username": format!("username_{user}")});
    storage.write_compressed(
        "post",
        &(number + 1).to_string(),
        post.to_string().as_bytes(),
    )?;
    add(storage, "user-timeline", &[user], number + 1)?;
    add(
        storage,
        "home-timeline",
        &followers[user as usize],
        number + 1,
    )
}

/// The followers of each user: as in the original, following is mutual.
fn followers(seed: u64) -> Vec<Vec<u64>> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut unit = move || (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
    // Every edge is drawn from both of its ends' wishes: half the degree from each.
    let mut edges = std::collections::BTreeSet::new();
    for user in 0..USERS {
        let wanted = degree(unit()) / 2.0;
        for _ in 0..wanted.round() as u64 {
            let other = (unit() * USERS as f64) as u64;
            if other != user {
                edges.insert((user.min(other), user.max(other)));
            }
        }
    }
    let mut followers = vec![Vec::new(); USERS as usize];
    for (one, other) in edges {
        followers[one as usize].push(other);
        followers[other as usize].push(one);
    }
    // Posts of somebody whom nobody follows would be on no timeline.
    for (user, own) in followers.iter_mut().enumerate() {
        if own.is_empty() {
            own.push((user as u64 + 1) % USERS);
        }
    }
    followers
}

fn degree(rank: f64) -> f64 {
    let upper = DEGREES.iter().position(|(share, _)| rank < *share);
    let upper = upper.unwrap_or(DEGREES.len() - 1).max(1);
    let ((low, from), (high, to)) = (DEGREES[upper - 1], DEGREES[upper]);
    from + (to - from) * (rank - low) / (high - low)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_graph_has_the_size_of_the_original() {
        let followers = followers(1);
        let edges: usize = followers.iter().map(Vec::len).sum::<usize>() / 2;
        assert_eq!(followers.len(), 962);
        assert!((15_000..22_000).contains(&edges), "{edges}");
        for (user, own) in followers.iter().enumerate() {
            assert!(!own.is_empty() && !own.contains(&(user as u64)), "{user}");
        }
    }
}
