import APNSClient
import APNSModel
import APNSSimulator
import Crypto
import EmbeddedIslet
import Foundation
import JSONText
import LiveActivityServer
import TestSupport
import Testing

@testable import islet

/// Signs tokens for an app's people.
struct PersonMinter: Sendable {
    private let key = P256.Signing.PrivateKey()

    var people: ServerParts.AppPeople {
        get throws {
            ServerParts.AppPeople(
                issuers: ["https://id.example.com"], audience: "pizza", algorithms: [.es256],
                keys: .fixed([try PersonTokenKey(pem: key.publicKey.pemRepresentation)]), user: try JSONPointer("/sub"),
                leeway: .seconds(60))
        }
    }

    func token(_ user: String) throws -> String {
        let claims: JSONObject = [
            "iss": "https://id.example.com", "aud": "pizza", "sub": .string(user),
            "exp": .number(JSONNumber(Int(Date().timeIntervalSince1970) + 3_600)),
        ]
        let signed = "\(Self.base64(#"{"alg":"ES256"}"#.utf8)).\(Self.base64(JSONValue.object(claims).bytes))"
        return try "\(signed).\(Self.base64(key.signature(for: Data(signed.utf8)).rawRepresentation))"
    }

    private static func base64(_ bytes: some Sequence<UInt8>) -> String {
        Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }
}

/// Phones whose people authenticate with their own tokens, against the whole server.
struct HandOverTests {
    @Test func `L24: a phone that changes hands is the next person's, whose token alone the server would not take`()
        async throws
    {
        var options = Stack.Options()
        let minter = PersonMinter()
        options.people = minter
        try await Stack.run(options) { stack in
            let phone = try await stack.phone("ann") { $0.appState = .foreground }
            try await stack.set("order-1", "preparing", people: ["ann"])
            try await stack.shows("preparing", on: phone)
            try stack.simulator.perform(.signIn(user: "bob"), on: phone)
            try await stack.reported(phone)
            #expect(try stack.simulator.lockScreen(of: phone).cards.isEmpty, "what ann saw is not for bob")
            try await stack.set("order-2", "ready", people: ["bob"])
            try await stack.shows("ready", on: phone)

            // A stranger's registration of the phone, with a valid token of their own and nothing of the phone's.
            let stranger = try minter.token("cleo")
            let (status, _, _) = try await stack.islet.exchange(
                .PUT, "/v1/devices/ann", Array("{}".utf8), credential: stranger)
            #expect(status == 403)
        }
    }
}
