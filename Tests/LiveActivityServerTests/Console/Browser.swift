import HTTPTypes
import Hummingbird
import HummingbirdTesting
import JSONText
import LiveActivityStorage
import NIOCore
import Testing

@testable import LiveActivityServer

/// A browser with the console open: it keeps the cookie and sends the origin of its requests.
struct Browser {
    let fixture: Fixture
    var cookie: String?
    var token: String?
    var origin = "http://localhost"
    var site: String? = "same-origin"

    /// Returns a browser that is signed in with a key of this scope.
    static func signedIn(_ fixture: Fixture, as scope: APIKeyRecord.Scope) async throws -> Browser {
        var browser = Browser(fixture: fixture)
        let key = try #require(fixture.keys[scope])
        let reply = try await browser.signIn(key.text)
        #expect(reply.status == 200)
        return browser
    }

    /// Signs in. A refusal keeps the existing cookie, as in a browser.
    mutating func signIn(_ key: String, isFromLink: Bool? = nil) async throws -> Reply {
        let link = isFromLink.map { #","isFromLink":\#($0)"# } ?? ""
        let reply = try await call(.post, "/console/session", #"{"key":"\#(key)"\#(link)}"#)
        guard reply.status == 200 || cookie == nil else { return reply }
        cookie = reply.headers[.setCookie].map { String($0.prefix { $0 != ";" }) }
        token = reply["/token"]?.string
        return reply
    }

    func call(_ method: HTTPRequest.Method, _ path: String, _ body: String? = nil) async throws -> Reply {
        var headers: HTTPFields = [:]
        headers[.cookie] = cookie.map { "theme=dark; \($0); other=1" }
        if method != .get { headers[.origin] = origin }
        if let name = HTTPField.Name("Sec-Fetch-Site") { headers[name] = site }
        if let name = HTTPField.Name("Islet-Console-Token") { headers[name] = token }
        return Reply(
            try await fixture.client.executeRequest(
                uri: path, method: method, headers: headers, body: body.map { ByteBuffer(string: $0) }))
    }
}
