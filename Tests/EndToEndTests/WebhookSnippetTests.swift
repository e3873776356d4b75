import Foundation
import Testing

@testable import islet

/// The verification code of `docs/webhooks.md`, run as written in each language.
@Suite(.serialized) struct WebhookSnippetTests {
    /// A language, and a program around the document's code that prints the result of a call.
    struct Language: Sendable, CustomTestStringConvertible {
        let name: String
        /// The beginning of its code block in the document.
        let fence: String
        let tool: [String]
        let file: String
        let frame: String
        /// The file of the frame, if it needs one of its own.
        var frameFile: String?
        var testDescription: String { name }

        /// The tool's path; `nil` if the machine does not have it.
        var path: String? {
            let folders = ProcessInfo.processInfo.environment["PATH"]?.split(separator: ":").map(String.init) ?? []
            return folders.map { "\($0)/\(tool[0])" }.first { FileManager.default.isExecutableFile(atPath: $0) }
        }
    }

    static let languages = [
        Language(
            name: "Python", fence: "python", tool: ["python3"], file: "verify.py",
            frame: """

                import json, sys
                call = json.load(open(sys.argv[1]))
                try:
                    print(verify(call["secrets"], call["headers"], call["body"].encode(), call["now"]))
                except ValueError as error:
                    print("refused:", error)
                """),
        Language(
            name: "Node", fence: "js", tool: ["node"], file: "verify.js",
            frame: """

                const call = JSON.parse(require("node:fs").readFileSync(process.argv[2], "utf8"));
                try {
                  console.log(verify(call.secrets, call.headers, Buffer.from(call.body), call.now));
                } catch (error) {
                  console.log("refused:", error.message);
                }
                """),
        Language(
            name: "Go", fence: "go", tool: ["go", "run"], file: "verify.go",
            frame: """
                package main

                import (
                	"encoding/json"
                	"fmt"
                	"net/http"
                	"os"
                	"time"
                )

                func main() {
                	var call struct {
                		Secrets []string
                		Headers map[string]string
                		Body    string
                		Now     int64
                	}
                	text, _ := os.ReadFile(os.Args[len(os.Args)-1])
                	json.Unmarshal(text, &call)
                	header := http.Header{}
                	for name, value := range call.Headers {
                		header.Set(name, value)
                	}
                	id, err := Verify(call.Secrets, header, []byte(call.Body), time.Unix(call.Now, 0))
                	if err != nil {
                		id = "refused: " + err.Error()
                	}
                	fmt.Println(id)
                }
                """, frameFile: "main.go"),
    ]

    private static let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    private static let other = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSx"
    private static let id = "msg_p5jXN8AQM9LWM0D4loKWxJek"
    private static let signature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    private static let sentAt = 1_614_265_330

    private struct Call: Encodable {
        var secrets = [secret]
        var headers = [
            "webhook-id": id, "webhook-timestamp": String(sentAt), "webhook-signature": signature,
        ]
        var body = #"{"test": 2432232314}"#
        var now = sentAt + 10
    }

    @Test(arguments: languages.filter { $0.path != nil })
    func `a snippet takes what is genuine and nothing else`(language: Language) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("islet-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let page = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("docs/webhooks.md")
        let code = try Self.code(language.fence, in: String(contentsOf: page, encoding: .utf8))
        var files = [folder.appendingPathComponent(language.file)]
        if let name = language.frameFile {
            files.append(folder.appendingPathComponent(name))
            try Data(code.utf8).write(to: files[0])
            try Data(language.frame.utf8).write(to: files[1])
        } else {
            try Data((code + language.frame + "\n").utf8).write(to: files[0])
        }
        for (call, isGenuine) in Self.calls() {
            let input = folder.appendingPathComponent("call.txt")
            try JSONEncoder().encode(call).write(to: input)
            let log = folder.appendingPathComponent("\(UUID().uuidString).log")
            let process = try ChildProcess(
                language.name, executable: URL(fileURLWithPath: try #require(language.path)),
                arguments: Array(language.tool.dropFirst()) + files.map(\.path) + [input.path],
                environment: ["GOCACHE": folder.path, "GOFLAGS": "-mod=mod", "HOME": folder.path], log: log)
            let status = try await process.exitCode(within: .seconds(120))
            let output = try String(
                contentsOf: log.deletingPathExtension().appendingPathExtension("out"), encoding: .utf8)
            let errors = try String(contentsOf: log, encoding: .utf8)
            #expect(status == 0, "\(errors)")
            #expect(isGenuine ? output == Self.id + "\n" : output.hasPrefix("refused:"), "\(call): \(output)")
        }
    }

    private static func calls() -> [(Call, Bool)] {
        func call(_ change: (inout Call) -> Void) -> Call {
            var call = Call()
            change(&call)
            return call
        }
        return [
            (Call(), true),
            (call { $0.secrets = [other, secret] }, true),
            (call { $0.headers["webhook-signature"] = "v1,AAAA v2,BBBB \(signature)" }, true),
            (call { $0.secrets = [other] }, false),
            (call { $0.body += " " }, false),
            (call { $0.headers["webhook-id"] = "x" }, false),
            (call { $0.headers["webhook-timestamp"] = String(sentAt + 1) }, false),
            (call { $0.headers["webhook-signature"] = nil }, false),
            (call { $0.headers["webhook-signature"] = "v1," }, false),
            (call { $0.headers["webhook-signature"] = String(signature.dropFirst(3)) }, false),
            (call { $0.now = sentAt + 400 }, false),
            (call { $0.now = sentAt - 400 }, false),
        ]
    }

    /// Returns the only code block of a language in the document.
    private static func code(_ fence: String, in page: String) throws -> String {
        let begin = try #require(page.firstRange(of: "```\(fence)\n"))
        let end = try #require(page[begin.upperBound...].firstRange(of: "\n```"))
        return String(page[begin.upperBound..<end.lowerBound]) + "\n"
    }
}
