import APNSModel
import LiveActivityCore
import LiveActivityTracing
import Synchronization
import Tracing

/// Spans of a flight: one for the whole flight, within the request that it follows from, and for a small flight one per
/// push.
///
/// The span of a late push ends with its answer, after that of the flight.
final class FlightTrace: Sendable {
    private let traces: Traces
    private let span: any Span
    private let pushes = Mutex<[(any Span)?]>([])

    init(_ traces: Traces, _ flight: Flight) {
        self.traces = traces
        let activity = flight.desired.activity
        let context = traces.context(
            app: activity.app.text, activity: activity.id.text, revision: flight.record.revision)
        span = traces.start("flight", in: context ?? .topLevel)
        span.updateAttributes { attributes in
            attributes["islet.app"] = activity.app.text
            attributes["islet.type"] = activity.type
            attributes["islet.activity"] = activity.id.text
            attributes["islet.revision"] = flight.record.revision
            attributes["islet.pushes"] = Int64(flight.seats.count)
        }
    }

    /// Begins the spans of these pushes, in the order in which they leave.
    func sends(_ seats: [Flight.Seat]) {
        guard span.isRecording, seats.count <= Traces.spansPerFlight else { return }
        let begun = seats.map { seat -> (any Span)? in
            let push = traces.start("push \(seat.plan.kind.name)", .client, in: span.context)
            push.updateAttributes { attributes in
                attributes["apns.environment"] = seat.phone.environment(of: seat.plan.kind).rawValue
                attributes["apns.priority"] = Int64(seat.plan.priority.rawValue)
                attributes["islet.reason"] = seat.plan.reason.code.rawValue
            }
            return push
        }
        pushes.withLock { $0 = begun }
    }

    func answered(_ index: Int, _ answer: Result<PushAnswer, PushFailure>) {
        let push = pushes.withLock { pushes -> (any Span)? in
            guard pushes.indices.contains(index) else { return nil }
            defer { pushes[index] = nil }
            return pushes[index]
        }
        guard let push else { return }
        switch answer {
        case .success(let answer):
            push.attributes["http.response.status_code"] = Int64(answer.status)
            if let reason = answer.reason { push.attributes["apns.reason"] = reason.text }
            if answer.status != 200 { push.setStatus(SpanStatus(code: .error)) }
        case .failure(let failure):
            push.attributes["error.type"] = failure.code.rawValue
            push.setStatus(SpanStatus(code: .error))
        }
        push.end()
    }

    /// Adds the outcomes that came in time to the flight's span.
    func settled(_ entries: [SettleFlight.Entry]) {
        guard span.isRecording else { return }
        var counts = (accepted: 0, refused: 0, awaited: 0)
        for entry in entries {
            switch entry.outcome {
            case .awaited: counts.awaited += 1
            case .answered(.success(let answer)) where answer.status == 200: counts.accepted += 1
            case .answered, .notBuilt: counts.refused += 1
            }
        }
        span.updateAttributes { attributes in
            attributes["islet.accepted"] = Int64(counts.accepted)
            attributes["islet.refused"] = Int64(counts.refused)
            attributes["islet.awaited"] = Int64(counts.awaited)
        }
    }

    func end() { span.end() }
}
