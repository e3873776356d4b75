/// What libFuzzer calls with every input that it invents: a script for `ConnectionTrial`.
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
