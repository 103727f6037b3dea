package import Foundation
import ObjectStore
import SyncHub
import Synchronization

extension SyncService {
  /// What a watching service has done.
  package enum Update: Sendable {
    /// A round that began at a time has sent something, or changed the store.
    case round(SyncRunner.Round, began: Date)
    /// A round failed. The next one follows after a delay, in seconds.
    case failure(any Error, began: Date, delay: Double)
  }

  /// The times of watching, in seconds.
  private enum Interval {
    /// Between pulls without a hint, because hints can be lost.
    static let pull = 30.0
    /// The first delay after an error. It doubles with each further one, up to the last delay, unless chunks of large values were transferred
    /// before: over a line that breaks again and again, a transfer continues at once.
    static let firstDelay = 1.0
    static let lastDelay = 60.0
    /// Between attempts to watch the hub.
    static let watch = 2.0
    /// After a round that has sent something. Saves that follow each other quickly are sent together, which costs each of them less: rounds
    /// use the same connection of the store.
    static let gathering = 0.02
  }

  /// Synchronizes whenever the store is saved, the hub has news, or some time has passed, until the stream ends or its task is canceled.
  ///
  /// Saves of other processes are noticed if the store's description requests remote-change notifications.
  package func watch() -> AsyncStream<Update> {
    AsyncStream { output in
      let task = Task {
        await self.watch { output.yield($0) }
        output.finish()
      }
      output.onTermination = { _ in task.cancel() }
    }
  }

  private func watch(_ report: @Sendable (Update) -> Void) async {
    let signal = SyncSignal()
    signal.send(pulls: true)
    let observer = coordinator.addCommitListener { signal.send(pulls: false) }
    defer { coordinator.removeObserver(observer) }
    await withTaskGroup(of: Void.self) { group in
      group.addTask { for await _ in self.coordinator.remoteChanges() { signal.send(pulls: false) } }
      group.addTask { await self.followHints(signal) }
      group.addTask {
        while (try? await Task.sleep(for: .seconds(Interval.pull))) != nil { signal.send(pulls: true) }
      }
      await run(signal, report)
      group.cancelAll()
    }
  }

  /// Requests a round for each hint of the hub, and watches it again if that fails.
  private func followHints(_ signal: SyncSignal) async {
    while !Task.isCancelled {
      if let watch = try? await hub.watch(zone: runner.zoneID()) {
        for await _ in watch.hints { signal.send(pulls: true) }
      }
      try? await Task.sleep(for: .seconds(Interval.watch))
    }
  }

  private func run(_ signal: SyncSignal, _ report: @Sendable (Update) -> Void) async {
    var delay = Interval.firstDelay
    var next = ContinuousClock.now
    for await _ in signal.wakes {
      if next > .now, (try? await Task.sleep(until: next)) == nil { return }
      guard let pulls = signal.take() else { continue }
      let began = Date()
      let hasTransferred = Mutex(false)
      do {
        let round = try await synchronize(pulls: pulls) { round in
          if round.sentBytes + round.receivedBytes > 0 { hasTransferred.withLock { $0 = true } }
        }
        if round.pushed > 0 { next = .now + .seconds(Interval.gathering) }
        if !round.isEmpty { report(.round(round, began: began)) }
        delay = Interval.firstDelay
      } catch {
        if Task.isCancelled { return }
        if hasTransferred.withLock({ $0 }) { delay = Interval.firstDelay }
        report(.failure(error, began: began, delay: delay))
        guard (try? await Task.sleep(for: .seconds(delay))) != nil else { return }
        delay = min(delay * 2, Interval.lastDelay)
        signal.send(pulls: true)
      }
    }
  }
}
