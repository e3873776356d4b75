/// A date of HTTP in its preferred form, IMF-fixdate: `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110 section 5.6.7).
package enum HTTPDate {
    private static let days = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// Returns the text for a number of seconds since 1970-01-01T00:00:00Z. A negative number gives the text for 0.
    package static func write(_ seconds: Int) -> String {
        let (day, second) = max(seconds, 0).quotientAndRemainder(dividingBy: 86_400)
        let date = CivilDate(daysSince1970: day)
        return "\(days[day % 7]), \(date.day.padded(to: 2)) \(months[date.month - 1]) \(date.year) \(second.clock) GMT"
    }

    /// Returns the seconds since 1970-01-01T00:00:00Z, or `nil` if the text has another form or names no instant.
    ///
    /// The name of the day is not compared with the date.
    package static func parse(_ text: String) -> Int? {
        let bytes = Array(text.utf8)
        guard bytes.count == 29, bytes[3] == UInt8(ascii: ","), bytes[19] == UInt8(ascii: ":"),
            bytes[22] == UInt8(ascii: ":"), [4, 7, 11, 16, 25].allSatisfy({ bytes[$0] == UInt8(ascii: " ") }),
            bytes[26...] == Array("GMT".utf8)[...],
            let month = months.firstIndex(of: String(decoding: bytes[8..<11], as: UTF8.self)),
            let day = number(bytes[5..<7]), let year = number(bytes[12..<16]), let hour = number(bytes[17..<19]),
            let minute = number(bytes[20..<22]), let second = number(bytes[23..<25]),
            let date = CivilDate(year: year, month: month + 1, day: day), hour < 24, minute < 60, second <= 60
        else { return nil }
        return date.daysSince1970 * 86_400 + hour * 3_600 + minute * 60 + second
    }

    private static func number(_ digits: ArraySlice<UInt8>) -> Int? {
        digits.reduce(0) { value, digit in
            guard let value, UInt8(ascii: "0")...UInt8(ascii: "9") ~= digit else { return nil }
            return value * 10 + Int(digit - UInt8(ascii: "0"))
        }
    }
}
