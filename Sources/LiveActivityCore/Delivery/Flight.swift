package import APNSModel

/// A claimed stretch of a lane: the pushes to send, and under which fence their outcomes are settled.
package struct Flight: Sendable {
    /// One phone's place in a flight. By reference: it goes through many hands, and is as large as all that is known
    /// of a phone.
    package final class Seat: Sendable {
        package let phone: PhoneSituation
        package let plan: PushPlan
        /// In seconds, fixed by the claim: a paused process cannot overwrite a newer state with it.
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

    /// Whole seconds, greater than the last one, and never more than seven hours ahead: iOS ignores what is not newer,
    /// and drops what is more than eight hours ahead (Apple forums, thread 776165). An hour is left to a phone whose
    /// clock is behind.
    package static func timestamp(after last: Int64, now: UnixTime) -> Int64 {
        min(max(now.seconds, last + 1), latestTimestamp(now))
    }

    /// The greatest timestamp that a push may carry now, in seconds.
    package static func latestTimestamp(_ now: UnixTime) -> Int64 { now.seconds + 7 * 3600 }

    /// The request of a seat; `nil` when its token is gone.
    package func request(of seat: Seat) throws(PayloadError) -> PushRequest? {
        try PushBuilder.request(
            seat.plan, desired: desired, content: content, phone: seat.phone, timestamp: seat.timestamp,
            id: record.pushID(of: seat.phone.device.key))
    }
}
