//! The services of DeathStarBench's MediaServices (mediaMicroservices).
//!
//! Derived from the Thrift interface `media_service.thrift` (delimitrou/DeathStarBench at 6ecb0970)
//! and its load generator's one request, `compose-review.lua`: a review is composed by services that
//! each upload a part of it to ComposeReviewService, which stores the whole when the last part is
//! there; a page of a film is read from the services that hold its parts. Procedures without a
//! result (`void Upload...`) are the parts' uploads; the suite keeps parts and identifiers in
//! memcached, timelines in Redis, and everything durable in MongoDB.
//!
//! What the interface does not show is assumed: caches hit, and messages are compressed that carry
//! text or lists of records (reviews, plots, casts, pages).

use super::chains::{path, read, receive, rpc, write};
use super::error::ServiceError;
use super::service::{Phase, Service};

/// The services of MediaServices: first those that compose a review, then those that read.
///
/// # Errors
/// None in practice; the constructor is the fallible one that users have.
pub fn media_services() -> Result<Vec<Service>, ServiceError> {
    let mut services = composing()?;
    services.extend(storing()?);
    services.extend(reading()?);
    Ok(services)
}

/// One service: its name and procedure, whether requests come compressed, its steps and how it
/// answers.
fn service(
    name: &str,
    method: &str,
    compressed: i64,
    steps: Vec<Phase>,
    sent: &str,
) -> Result<Service, ServiceError> {
    Service::new(name, method, path(receive(compressed), steps, sent))
}

fn composing() -> Result<Vec<Service>, ServiceError> {
    let upload = || Phase::one(rpc("T9", 0));
    let upload_text = || Phase::one(rpc("T9+Cmp", 0));
    Ok(vec![
        service(
            "UpUniqId",
            "UniqueIdService.UploadUniqueId",
            0,
            vec![upload()],
            "T2",
        )?,
        // The film's identifier by its title, then to the review and, with it, the rating.
        service(
            "UpMovieId",
            "MovieIdService.UploadMovieId",
            0,
            vec![Phase::one(read(1, 0)), Phase::parallel(2, &rpc("T9", 0))],
            "T2",
        )?,
        service(
            "UpText",
            "TextService.UploadText",
            1,
            vec![upload_text()],
            "T2",
        )?,
        // Into the film's sum of ratings and, at the same time, to the review.
        service(
            "UpRating",
            "RatingService.UploadRating",
            0,
            vec![Phase::Traces(vec![write("T8"), rpc("T9", 0)])],
            "T2",
        )?,
        // The user's identifier by the name, then to the review.
        service(
            "UpUser",
            "UserService.UploadUserWithUsername",
            0,
            vec![Phase::one(read(1, 0)), upload()],
            "T2",
        )?,
    ])
}

/// The steps of a complete review.
fn storing() -> Result<Vec<Service>, ServiceError> {
    let put = |entry| Phase::one(write(entry));
    Ok(vec![
        // The upload that completes a review: it is counted and kept, all parts are read, and the
        // review goes to storage and to the timelines of its film and its user.
        service(
            "CompRev",
            "ComposeReviewService.UploadText",
            1,
            vec![
                put("T8"),
                put("T8+Cmp"),
                Phase::one(read(1, 1)),
                Phase::parallel(3, &rpc("T9+Cmp", 0)),
            ],
            "T2",
        )?,
        service(
            "StoreRev",
            "ReviewStorageService.StoreReview",
            1,
            vec![put("T8+Cmp")],
            "T2",
        )?,
        // Into the durable timeline, then into its copy in memory.
        service(
            "UpMovRev",
            "MovieReviewService.UploadMovieReview",
            0,
            vec![put("T8"), put("T8")],
            "T2",
        )?,
        service(
            "UpUserRev",
            "UserReviewService.UploadUserReview",
            0,
            vec![put("T8"), put("T8")],
            "T2",
        )?,
    ])
}

fn reading() -> Result<Vec<Service>, ServiceError> {
    let one_read = || vec![Phase::one(read(1, 1))];
    let two = || Phase::parallel(2, &rpc("T9", 1));
    Ok(vec![
        service(
            "RdRevs",
            "ReviewStorageService.ReadReviews",
            0,
            one_read(),
            "T3",
        )?,
        // Identifiers of reviews from the timeline, then the reviews.
        service(
            "RdMovRev",
            "MovieReviewService.ReadMovieReviews",
            0,
            vec![Phase::one(read(1, 0)), Phase::one(rpc("T9", 1))],
            "T3",
        )?,
        // The film and its reviews; then the cast and the plot that the film names.
        service(
            "RdPage",
            "PageService.ReadPage",
            0,
            vec![two(), two()],
            "T3",
        )?,
        service(
            "RdInfo",
            "MovieInfoService.ReadMovieInfo",
            0,
            one_read(),
            "T3",
        )?,
        service(
            "RdCast",
            "CastInfoService.ReadCastInfo",
            0,
            one_read(),
            "T3",
        )?,
        service("RdPlot", "PlotService.ReadPlot", 0, one_read(), "T3")?,
    ])
}
