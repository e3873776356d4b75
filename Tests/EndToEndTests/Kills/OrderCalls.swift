import Foundation
import JSONText
import LiveActivityAPI
import TestSupport

@testable import islet

/// Calls about one order, for tests of damaged surroundings.
extension DemoStage {
    /// - Returns: The new revision.
    @discardableResult
    func setOrder(_ status: String, _ people: [String] = ["alice"], _ more: JSONObject = [:]) async throws -> Int {
        var body: JSONObject = [
            "type": "OrderTracking", "state": ["status": .string(status), "progress": 0.5],
            "attributes": ["orderId": "order-1", "restaurant": "Da Mario"],
            "audience": ["users": .array(people.map(JSONValue.string))],
        ]
        for (name, value) in more { body[name] = value }
        return try await islet.callOnAnyConnection(.PUT, "/v1/activities/order-1", .object(body))
            .decode(ActivityAnswer.self).revision
    }

    func viewOrder() async throws -> ActivityView {
        try await islet.callOnAnyConnection(.GET, "/v1/activities/order-1").decode(ActivityView.self)
    }

    /// Adds a phone whose app is not running and which the server knows.
    func addKilledPhone(_ name: String = "alice") async throws {
        try await addPhone(name, ["appState": "killed"])
        try await Waiting.until("\(name) is registered", within: .seconds(60)) { try await self.hasReported(name) }
    }

    /// Waits until the server can reach the card on a phone, so that the next state arrives by a push.
    func isLive(on phone: String = "alice") async throws {
        try await Waiting.until("the card of \(phone) is live", within: .seconds(90)) {
            let view = try await self.viewOrder().devices.first { $0.device == phone }
            guard view?.state == "live" else { return false }
            return try await self.hasReported(phone)
        }
    }

    func shows(_ status: String, on phone: String = "alice") async throws {
        try await Waiting.until("\(phone) shows \(status), once", within: .seconds(90)) {
            let cards = try await self.cards(on: phone)
            return cards.count == 1 && cards[0]["contentState"]?.object?["status"]?.string == status
        }
    }

    /// Runs another command of the program, beside the server or without one.
    func command(_ words: String...) async throws -> (code: Int32, output: String, errors: String) {
        let log = directory.appendingPathComponent("\(words[0])-\(UUID().uuidString).log")
        let config = directory.appendingPathComponent("islet.yaml").path
        let child = try ChildProcess(
            words[0], executable: Executable.islet, arguments: words + ["--config", config], log: log)
        let code = try await child.exitCode(within: .seconds(60))
        let output = log.deletingPathExtension().appendingPathExtension("out")
        return (code, try String(contentsOf: output, encoding: .utf8), try String(contentsOf: log, encoding: .utf8))
    }
}

/// Returns the refusal of a call, or `nil` if it succeeded.
func refusal(of call: () async throws -> Void) async throws -> JSONCaller.Refusal? {
    do {
        try await call()
        return nil
    } catch let refusal as JSONCaller.Refusal {
        return refusal
    }
}
