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
            && seats.count == other.seats.count && zip(seats, other.seats).allSatisfy { $0.isSame(as: $1) }
    }
}

extension Flight.Seat {
    fileprivate func isSame(as other: Flight.Seat) -> Bool {
        phone == other.phone && plan == other.plan && timestamp == other.timestamp
    }
}
