// ContextActor+Autosave: an actor whose context saves itself some time after the last change.
import Synchronization

extension ContextActor {
  /// Saves the actor's context by itself: some time after the last change, as a piece of work between others.
  ///
  /// ```swift
  /// await library.autosaves(after: .seconds(2)) { error in log(error) }
  /// ```
  ///
  /// Nothing is lost by an error: the changes stay, and are saved with the next ones. A change holds the actor until it is saved, or the save has failed. What was
  /// said before about saving by itself does not hold any more.
  ///
  /// - Parameters:
  ///   - delay: How long after the last change.
  ///   - clock: What measures the time.
  ///   - onError: Called with what a save has thrown.
  public func autosaves(
    after delay: Duration, clock: some Clock<Duration> = ContinuousClock(), onError: @escaping @Sendable (any Error) -> Void
  ) {
    stopAutosaves()
    let timer = QuietTimer(clock, delay: delay)
    let save: @Sendable (isolated ContextActor) async -> Void = { library in
      await library.perform { context in
        do { try timer.withoutEvents { try context.save() } } catch {
          onError(error)
        }
      }
    }
    beginAutosaves { [weak self] in
      if let self { timer.noteEvent { await save(self) } }
    } stopping: {
      timer.cancel()
    }
  }

  /// Saves what is not saved yet, and saves nothing more by itself. The changes stay in the context when the save fails.
  ///
  /// - Throws: What ``ManagedObjectContext/save()`` throws.
  public func endAutosaves() async throws {
    stopAutosaves()
    try await perform { try $0.save() }
  }
}
