import APNSModel
import IsletBasics
import Synchronization

/// The `Date` header of answers (RFC 9110 section 5.6.7), formatted once a second.
final class DateHeader: Sendable {
    private let newest = Mutex<(second: Int64, text: String)>((-1, ""))

    func text(at time: UnixTime) -> String {
        let second = time.seconds
        return newest.withLock { newest in
            if newest.second != second { newest = (second, HTTPDate.write(Int(second))) }
            return newest.text
        }
    }
}
