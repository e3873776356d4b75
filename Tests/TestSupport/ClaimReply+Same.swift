package import LiveActivityCore

extension ClaimWork.Reply {
    /// Returns `true` if both claims found the same, and claimed the same pushes.
    package func isSame(as other: Self) -> Bool {
        rescued == other.rescued && hasMore == other.hasMore && flights.count == other.flights.count
            && zip(flights, other.flights).allSatisfy { $0.isSame(as: $1) }
    }
}

extension Flight {
    package func isSame(as other: Flight) -> Bool {
        record == other.record && lane == other.lane && fence == other.fence && desired == other.desired
            && content == other.content
            && seats.count == other.seats.count
            && zip(seats, other.seats).allSatisfy { $0.isSame(as: $1, run: desired.activity.run) }
    }
}

extension Flight.Seat {
    fileprivate func isSame(as other: Flight.Seat, run: Int) -> Bool {
        var (mine, its) = (phone, other.phone)
        // What only a start needs may be there, because another lane with the device needed it. The plan of a phone
        // that cannot be started does not depend on it.
        if !mine.card.mayBeStarted(in: run) {
            mine.forgetStart()
            its.forgetStart()
        }
        return mine == its && plan == other.plan && timestamp == other.timestamp
    }
}
