import APNSSimulator
import LiveActivityAPI

/// The calls of the apps on simulated phones, made to Islet's HTTP API: with the credential that a phone was given,
/// else with the key that the app's backend would lend it.
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
