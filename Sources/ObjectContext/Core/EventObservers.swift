/// The library's internal observers of a context's events.
struct EventObservers: ~Copyable {
  /// Called in the context's isolation. It must not modify objects.
  typealias Observer = (ContextEvent) -> Void
  private var observers: [UInt64: Observer] = [:]
  /// Closures that are called after all observers have been notified.
  private var completions: [UInt64: () -> Void] = [:]
  private var lastNumber: UInt64 = 0
  /// Whether an observer was notified since the followers were last called.
  private(set) var hasPendingCompletions = false
  /// The undo manager, which records each write before it is made; `nil` if there is none.
  private(set) var recorder: ContextUndoManager?

  /// Whether there are no observers. Events are not created then.
  @inline(__always) var isEmpty: Bool { observers.isEmpty }
  /// Whether each write must be recorded before it is made. Objects do not write in place then.
  @inline(__always) var recordsWrites: Bool { recorder != nil }
  var all: [Observer] { Array(observers.values) }

  mutating func add(_ observer: @escaping Observer, completion: (() -> Void)?) -> UInt64 {
    lastNumber += 1
    observers[lastNumber] = observer
    completions[lastNumber] = completion
    return lastNumber
  }

  mutating func remove(_ number: UInt64) {
    observers.removeValue(forKey: number)
    completions.removeValue(forKey: number)
  }

  mutating func recordNotification() { hasPendingCompletions = !completions.isEmpty }

  /// Returns the followers to call now, and resets `hasPendingCompletions`.
  mutating func takeCompletions() -> [() -> Void] {
    hasPendingCompletions = false
    return Array(completions.values)
  }

  mutating func setRecorder(_ new: ContextUndoManager?) { recorder = new }
}

extension ManagedObjectContext {
  @inline(__always) var recorder: ContextUndoManager? { eventObservers.recorder }
  @inline(__always) var recordsWrites: Bool { eventObservers.recordsWrites }

  /// Registers an observer that receives the changes of each event at its end, before notifications are posted.
  ///
  /// - Parameters:
  ///   - observer: Called in the context's isolation. It must not modify objects.
  ///   - afterwards: Called when the context has notified all observers, once for one or several events. It may use the context freely.
  /// - Returns: A number for ``removeEventObserver(_:)``.
  package func addEventObserver(_ observer: @escaping (ContextEvent) -> Void, completion: (() -> Void)? = nil) -> UInt64 {
    eventObservers.add(observer, completion: completion)
  }

  package func removeEventObserver(_ number: UInt64) { eventObservers.remove(number) }

  /// Notifies the event observers.
  ///
  /// - Parameter makeEvent: Creates the event; called only if there are observers.
  @inline(__always) func notifyObservers(_ makeEvent: () -> ContextEvent) {
    if !eventObservers.isEmpty { sendEvent(makeEvent()) }
  }

  private func sendEvent(_ event: ContextEvent) {
    if event.isEmpty { return }
    eventObservers.recordNotification()
    // A copy: observers may be added or removed during the notification.
    for observer in eventObservers.all { observer(event) }
  }

  /// Calls the followers, after the last of a sequence of notifications.
  @inline(__always) func finishNotifying() {
    if eventObservers.hasPendingCompletions { callCompletions() }
  }

  private func callCompletions() {
    for follower in eventObservers.takeCompletions() { follower() }
  }
}
