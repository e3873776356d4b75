#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Runs libFuzzer through its own driver. The build names each executable's entry point, so libFuzzer's `main` is not
/// the one that is linked.
@main
enum ConnectionFuzz {
    static func main() {
        var count = CommandLine.argc
        var arguments = CommandLine.unsafeArgv
        exit(runDriver(&count, &arguments) { bytes, count in fuzz(bytes, count) })
    }
}

/// The driver of libFuzzer (https://llvm.org/docs/LibFuzzer.html, "Using libFuzzer as a library").
@_silgen_name("LLVMFuzzerRunDriver")
private func runDriver(
    _ count: UnsafeMutablePointer<CInt>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>,
    _ body: @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt
) -> CInt

/// Plays an input of libFuzzer as a script for `ConnectionTrial`.
///
/// A problem ends the process, so that libFuzzer keeps the input.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let script = Array(UnsafeBufferPointer(start: bytes, count: count))
    do {
        let problems = try ConnectionTrial.problems(of: script)
        precondition(problems.isEmpty, problems.joined(separator: "; "))
    } catch {
        preconditionFailure("the trial cannot be played: \(error)")
    }
    return 0
}
