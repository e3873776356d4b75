import APNSSimulator
import LiveActivityAPI

/// The calls of apps on simulated phones to Islet's HTTP API.
///
/// A call uses the phone's own credential if it has one. Otherwise it uses the key of the app's backend.
struct HTTPPhoneBackend: PhoneBackend {
    let islet: JSONCaller

    func call(_ phone: PhoneID, _ request: PhoneRequest) async throws -> PhoneResponse {
        guard let method = JSONCaller.Method(rawValue: request.method) else { return PhoneResponse(status: 405) }
        let (status, date, body) = try await islet.exchange(
            method, request.path, request.body, credential: request.credential,
            headers: request.proof.map { [PhoneHeader.deviceCredential: $0] } ?? [:])
        return PhoneResponse(status: status, body: body, date: date)
    }
}
