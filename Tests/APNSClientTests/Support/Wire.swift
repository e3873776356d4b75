import Foundation
import JSONText

/// Formats of the wire, read and written by Foundation and not by the client.
enum Wire {
    /// An IMF-fixdate.
    static func httpDate(_ seconds: Int64) -> String {
        let format = DateFormatter()
        format.locale = Locale(identifier: "en_US_POSIX")
        format.timeZone = TimeZone(identifier: "GMT")
        format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        return format.string(from: Date(timeIntervalSince1970: TimeInterval(seconds)))
    }

    /// The claim `iat` of `bearer <token>`.
    static func issuedAt(_ authorization: String) -> Int64 {
        let parts = authorization.split(separator: ".")
        guard parts.count == 3 else { return 0 }
        var text = parts[1].replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
        while !text.count.isMultiple(of: 4) { text += "=" }
        guard let data = Data(base64Encoded: text), let value = try? JSONValue(parsing: data) else { return 0 }
        return Int64(value.object?["iat"]?.int ?? 0)
    }
}
