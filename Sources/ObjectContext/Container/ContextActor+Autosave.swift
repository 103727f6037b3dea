import Synchronization

extension ContextActor {
  /// Saves the actor's context automatically, a specified time after the last change.
  ///
  /// ```swift
  /// await library.startAutosaving(after: .seconds(2)) { error in log(error) }
  /// ```
  ///
  /// Each save runs between other closures of the actor. If a save fails, the changes remain and are included in the next save. The actor
  /// stays alive until a change was saved or its save has failed. A new call replaces the settings of previous calls.
  ///
  /// - Parameters:
  ///   - delay: The time between the last change and the save.
  ///   - clock: The clock that measures the delay.
  ///   - onError: Called with the error of a failed save.
  public func startAutosaving(
    after delay: Duration, clock: some Clock<Duration> = ContinuousClock(), onError: @escaping @Sendable (any Error) -> Void
  ) {
    cancelAutosaving()
    let timer = DebounceTimer(clock, delay: delay)
    let save: @Sendable (isolated ContextActor) async -> Void = { library in
      await library.perform { context in
        do { try timer.ignoringEvents { try context.save() } } catch {
          onError(error)
        }
      }
    }
    beginAutosaves { [weak self] in
      if let self { timer.restart { await save(self) } }
    } stopping: {
      timer.cancel()
    }
  }

  /// Ends the autosave and saves unsaved changes. If the save fails, the changes remain in the context.
  ///
  /// - Throws: The errors of ``ManagedObjectContext/save()``.
  public func stopAutosaving() async throws {
    cancelAutosaving()
    try await perform { try $0.save() }
  }
}
