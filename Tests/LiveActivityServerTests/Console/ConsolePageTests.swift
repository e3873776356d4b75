import HTTPTypes
import HummingbirdTesting
import JSONText
import LiveActivityStorage
import NIOCore
import Synchronization
import Testing

@testable import LiveActivityServer

/// Responses to browsers, with their headers.
@Suite struct ConsolePageTests {
    private static let paths = ["/"] + ConsoleAsset.named.keys.sorted().map { "/console/\($0)" }

    @Test func `the page and its files come with a strict policy and no secret`() async throws {
        try await withServer { fixture in
            let browser = try await Browser.signedIn(fixture, as: .backend)
            let token = try #require(browser.token)
            let (policyField, sniffField) = (
                try #require(HTTPField.Name("Content-Security-Policy")),
                try #require(HTTPField.Name("X-Content-Type-Options"))
            )
            for path in Self.paths {
                let reply = try await browser.call(.get, path)
                #expect(reply.status == 200, "\(path)")
                let policy = try #require(reply.headers[policyField])
                #expect(policy.hasPrefix("default-src 'none'; script-src 'self'; style-src 'self'"), "\(path)")
                #expect(!policy.contains("unsafe") && policy.contains("frame-ancestors 'none'"), "\(path)")
                #expect(policy.contains("require-trusted-types-for 'script'"), "\(path)")
                #expect(reply.headers[sniffField] == "nosniff", "\(path)")
                #expect(!reply.text.contains(token), "\(path)")
                let tag = try #require(reply.headers[.eTag])
                let again = try await fixture.client.executeRequest(
                    uri: path, method: .get, headers: [.ifNoneMatch: tag], body: nil)
                #expect(again.status == .notModified && again.body.readableBytes == 0, "\(path)")
            }
        }
    }

    @Test func `nothing in the files needs more than the policy lets through`() {
        for (name, asset) in ConsoleAsset.named.merging(["index.html": .page], uniquingKeysWith: { first, _ in first })
        {
            let text = String(decoding: asset.bytes, as: UTF8.self)
            #expect(!text.isEmpty, "\(name)")
            let isScript = name.hasSuffix(".js")
            for word in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"] {
                #expect(!text.contains(word), "\(name) has \(word)")
            }
            // SVG's namespace is a name, not an address that is requested.
            let addresses = text.replacing("http://www.w3.org/2000/svg", with: "")
            #expect(!addresses.contains("http://") && !addresses.contains("https://"), "\(name) names another server")
            if !isScript {
                #expect(!text.contains(" style=") && !text.contains("onclick=") && !text.contains("<style"))
            }
        }
        let page = String(decoding: ConsoleAsset.page.bytes, as: UTF8.self)
        #expect(page.components(of: "<script").allSatisfy { $0.contains(" src=\"/console/") })
    }

    @Test func `every module that is imported is served`() {
        for (name, asset) in ConsoleAsset.named where name.hasSuffix(".js") {
            for line in String(decoding: asset.bytes, as: UTF8.self).components(of: " from \"./") {
                let imported = String(line.prefix { $0 != "\"" })
                #expect(ConsoleAsset.named[imported] != nil, "\(name) imports \(imported)")
            }
        }
    }

    @Test func `a console that is turned off is not there, and no cookie counts`() async throws {
        try await withServer(configure: { $0.console = false }) { fixture in
            for path in Self.paths + ["/console/session", "/console/live"] {
                let reply = try await Browser(fixture: fixture).call(.get, path)
                #expect(reply.status == 404 && reply.code == "not_found", "\(path)")
            }
            #expect(try await fixture.call(.get, "/v1/activities").status == 200)
        }
    }

    @Test func `other paths and methods are refused as everywhere`() async throws {
        try await withServer { fixture in
            let browser = try await Browser.signedIn(fixture, as: .backend)
            #expect(try await browser.call(.get, "/console/nothing.js").code == "not_found")
            #expect(try await browser.call(.get, "/console/../index.html").status == 404)
            #expect(try await browser.call(.post, "/").code == "method_not_allowed")
            #expect(try await browser.call(.put, "/console/session").code == "method_not_allowed")
            #expect(try await browser.call(.get, "/console/simulator/v1/phones").code == "not_found")
        }
    }

    @Test func `the simulator is reached by who may write, and only with the page's token`() async throws {
        let asked = Mutex<[String]>([])
        let control = SimulatorControl { method, path, body in
            asked.withLock { $0.append("\(method) \(path) \(String(decoding: body, as: UTF8.self))") }
            return (200, "application/json", Array(#"{"phones":[]}"#.utf8))
        }
        try await withServer(configure: { $0.simulator = control }) { fixture in
            let backend = try await Browser.signedIn(fixture, as: .backend)
            #expect(try await backend.call(.get, "/console/session")["/simulator"] == true)
            #expect(try await backend.call(.get, "/console/simulator/v1/phones?limit=2")["/phones"] == [])
            let kill = #"{"action":"kill"}"#
            let act = "/console/simulator/v1/phones/ada/actions"
            #expect(try await backend.call(.post, act, kill).status == 200)
            var foreign = backend
            foreign.token = nil
            #expect(try await foreign.call(.post, act, kill).code == "origin_refused")
            let reader = try await Browser.signedIn(fixture, as: .read)
            #expect(try await reader.call(.get, "/console/simulator/v1/phones").status == 200)
            #expect(try await reader.call(.post, act, kill).code == "scope_missing")
            #expect(try await backend.call(.get, "/console/simulator/v1/phones/ada/tokens").code == "not_found")
            #expect(try await Browser(fixture: fixture).call(.get, "/console/simulator/v1/phones").status == 401)
        }
        #expect(
            asked.withLock(\.self) == [
                "GET /v1/phones?limit=2 ", #"POST /v1/phones/ada/actions {"action":"kill"}"#, "GET /v1/phones ",
            ])
    }
}

extension String {
    /// Returns the text after each occurrence.
    fileprivate func components(of text: String) -> [Substring] {
        ranges(of: text).map { self[$0.upperBound...].prefix(120) }
    }
}
