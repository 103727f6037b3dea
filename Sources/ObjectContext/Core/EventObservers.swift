// EventObservers: who within the library is told of a context's events.

/// The observers within the library that hear of a context's events.
struct EventObservers: ~Copyable {
  /// Called in the context's isolation. It changes no object.
  typealias Observer = (ContextEvent) -> Void
  private var observers: [UInt64: Observer] = [:]
  private var lastNumber: UInt64 = 0

  /// Whether there is nobody: for nobody no event is made.
  @inline(__always) var isEmpty: Bool { observers.isEmpty }
  var all: [Observer] { Array(observers.values) }

  mutating func add(_ observer: @escaping Observer) -> UInt64 {
    lastNumber += 1
    observers[lastNumber] = observer
    return lastNumber
  }

  mutating func remove(_ number: UInt64) { observers.removeValue(forKey: number) }
}

extension ManagedObjectContext {
  /// Tells an observer at the end of each event what was changed in it, before notifications are posted.
  ///
  /// - Parameter observer: Called in the context's isolation. It changes no object.
  /// - Returns: The number that ``removeEventObserver(_:)`` takes.
  package func addEventObserver(_ observer: @escaping (ContextEvent) -> Void) -> UInt64 { eventObservers.add(observer) }

  /// Tells an observer nothing more.
  package func removeEventObserver(_ number: UInt64) { eventObservers.remove(number) }

  /// Tells of an event.
  ///
  /// - Parameter makeEvent: Called only where somebody listens.
  @inline(__always) func tellEvent(_ makeEvent: () -> ContextEvent) {
    if !eventObservers.isEmpty { tellObservers(makeEvent()) }
  }

  private func tellObservers(_ event: ContextEvent) {
    if event.isEmpty { return }
    // An observer may come or go meanwhile.
    for observer in eventObservers.all { observer(event) }
  }
}
