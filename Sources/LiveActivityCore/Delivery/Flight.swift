package import APNSModel

/// Pushes claimed from a lane, with the fence under which their outcomes are settled.
package struct Flight: Sendable {
    /// One phone's place in a flight.
    ///
    /// It is a class because it is large (everything known about a phone) and is passed around often.
    package final class Seat: Sendable {
        package let phone: PhoneSituation
        package let plan: PushPlan
        /// Timestamp in seconds, fixed by the claim. So a process that was paused cannot overwrite a newer state.
        package let timestamp: Int64

        init(phone: PhoneSituation, plan: PushPlan, timestamp: Int64) {
            self.phone = phone
            self.plan = plan
            self.timestamp = timestamp
        }
    }

    package var record: FlightRecord
    package var lane: LaneKey
    package var fence: Int64
    package var desired: DesiredSituation
    package var content: ContentRecord
    package var seats: [Seat]

    /// Returns the timestamp of the next push: whole seconds, greater than the last one, and at most seven hours ahead.
    ///
    /// iOS ignores a timestamp that is not newer, and drops one more than eight hours ahead (Apple forums, thread
    /// 776165). The remaining hour allows for a phone whose clock is behind.
    package static func timestamp(after last: Int64, now: UnixTime) -> Int64 {
        min(max(now.seconds, last + 1), latestTimestamp(now))
    }

    /// Returns the greatest timestamp that a push may carry now, in seconds.
    package static func latestTimestamp(_ now: UnixTime) -> Int64 { now.seconds + 7 * 3600 }

    /// Returns the request of a seat; `nil` if its token is gone.
    ///
    /// - Throws: `PayloadError` if the payload cannot be built.
    package func request(of seat: Seat) throws(PayloadError) -> PushRequest? {
        try PushBuilder.request(
            seat.plan, desired: desired, content: content, phone: seat.phone, timestamp: seat.timestamp,
            id: record.pushID(of: seat.phone.device.key))
    }
}
