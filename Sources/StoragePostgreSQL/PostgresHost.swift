import CLibPQ

/// One of the hosts of a URL.
struct PostgresHost: CustomStringConvertible {
    /// Parameters that replace those of the URL.
    let keywords: [(String, String)]

    var description: String { keywords.first { $0.0 == "host" || $0.0 == "hostaddr" }?.1 ?? "the server" }

    /// Returns the hosts of a URL in its order
    /// (https://www.postgresql.org/docs/15/libpq-connect.html#LIBPQ-MULTIPLE-HOSTS).
    ///
    /// - Throws: `PostgresError.refused` if libpq does not understand the URL.
    static func all(of url: String) throws(PostgresError) -> [Self] {
        // libpq would take the end of such a password for a host, and name it in its messages.
        guard url.prefix(while: { $0 != "?" }).count(where: { $0 == "@" }) <= 1 else {
            throw .refused("the user or the password in the URL contains `@`: write it as `%40`")
        }
        var message: UnsafeMutablePointer<CChar>?
        defer { PQfreemem(message) }
        guard let options = PQconninfoParse(url, &message) else {
            throw .refused(message.map { String(cString: $0) }?.split(separator: "\n").joined(separator: "; ") ?? "")
        }
        defer { PQconninfoFree(options) }
        var lists: [String: [String]] = [:]
        var option = options
        while let keyword = option.pointee.keyword {
            if let value = option.pointee.val {
                lists[String(cString: keyword)] = String(cString: value).split(
                    separator: ",", omittingEmptySubsequences: false
                ).map(String.init)
            }
            option += 1
        }
        let count = max(lists["host"]?.count ?? 0, lists["hostaddr"]?.count ?? 0)
        let parts = ["host", "hostaddr", "port"].compactMap { keyword in lists[keyword].map { (keyword, $0) } }
        // libpq says what is wrong with a list that does not match.
        guard parts.allSatisfy({ $0.1.count == count || $0.0 == "port" && $0.1.count == 1 }) else { return [] }
        return (0..<count).map { number in
            // One port serves all hosts.
            Self(keywords: parts.map { keyword, list in (keyword, list.count == 1 ? list[0] : list[number]) })
        }
    }
}
