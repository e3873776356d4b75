import Foundation
import Testing

@testable import islet

@Suite(.serialized) struct ConfigTests {
    private func folder(_ yaml: String) throws -> Folder {
        let folder = try Folder()
        try folder.write(yaml, to: "islet.yaml")
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: folder.path("key.p8"))
        return folder
    }

    @Test func `a good configuration is explained, and warned of where it is unwise`() async throws {
        let apart = "tokenKeys: {file: apart/ring.json}"
        let sound = try folder(Sample.file(apart))
        _ = try sound.ringApart()
        let good = try await Execution.of(["config", "check"], in: sound)
        #expect(good.code == 0 && good.errors.isEmpty)
        #expect(good.output.hasSuffix("islet.yaml is good (0 warnings)\n"))
        let beside = try await Execution.of(["config", "check"], in: try folder(Sample.file()))
        #expect(beside.code == 0 && beside.errors.hasPrefix("warning: islet.yaml: /tokenKeys: the ring "))
        let open = try folder(Sample.file("listen: 0.0.0.0:80\n" + apart))
        _ = try open.ringApart()
        let unwise = try await Execution.of(["config", "check"], in: open)
        #expect(unwise.code == 0 && unwise.errors.hasPrefix("warning: islet.yaml: /listen: "))
        #expect(unwise.output.hasSuffix("islet.yaml is good (1 warning)\n"))
    }

    @Test func `what the server would refuse is refused, with its place`() async throws {
        let roots = Sample.key.dropLast() + ", trustRoots: key.p8}"
        for (yaml, words) in [
            (Sample.file("lisen: x"), "error: islet.yaml:1: /lisen: unknown field; did you mean `listen`?\n"),
            (Sample.file(key: String(roots)), "/apps/0/apns/sandbox/trustRoots: "),
            ("apps: [", "error: islet.yaml: the file is not YAML: line 2"),
        ] {
            let run = try await Execution.of(["config", "check"], in: try folder(yaml))
            #expect(run.code == 1 && run.errors.contains(words), "\(run.errors)")
            #expect(run.errors.hasSuffix("islet.yaml has 1 problem: the server would not start\n"))
        }
        #expect(try await Execution.of(["config", "check", "--what"], in: try folder("")).code == 64)
    }

    @Test func `the reference is printed whole`() async throws {
        let run = try await Execution.of(["config", "reference"], in: try Folder())
        #expect(run.code == 0 && run.errors.isEmpty && run.output == ConfigurationReference.text)
    }
}
