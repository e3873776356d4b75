import JSONText

@testable import islet

extension JSONCaller {
    /// Makes a call that may be repeated, after a server died. An old connection to that server may be met first.
    @discardableResult
    func callOnAnyConnection(_ method: Method, _ path: String, _ body: JSONValue? = nil) async throws -> JSONValue {
        for _ in 0..<3 {
            do {
                return try await call(method, path, body)
            } catch let refusal as Refusal {
                throw refusal
            } catch {
                continue
            }
        }
        return try await call(method, path, body)
    }
}
