// EventObservers: who within the library is told of a context's events, and of writes before they are done.

/// The observers within the library that hear of a context's events.
struct EventObservers: ~Copyable {
  /// Called in the context's isolation. It changes no object.
  typealias Observer = (ContextEvent) -> Void
  private var observers: [UInt64: Observer] = [:]
  /// Those that want to act once the context is done with what it has told.
  private var followers: [UInt64: () -> Void] = [:]
  private var lastNumber: UInt64 = 0
  /// Whether something was told since the followers were called.
  private(set) var hasTold = false
  /// Records each write before it is done, so that it can be undone; nil unless it is set.
  private(set) var recorder: ContextUndoManager?

  /// Whether there is nobody: for nobody no event is made.
  @inline(__always) var isEmpty: Bool { observers.isEmpty }
  /// Whether somebody is to hear of each write before it is done. Objects write nothing in place then.
  @inline(__always) var hearsWrites: Bool { recorder != nil }
  var all: [Observer] { Array(observers.values) }

  mutating func add(_ observer: @escaping Observer, afterwards: (() -> Void)?) -> UInt64 {
    lastNumber += 1
    observers[lastNumber] = observer
    followers[lastNumber] = afterwards
    return lastNumber
  }

  mutating func remove(_ number: UInt64) {
    observers.removeValue(forKey: number)
    followers.removeValue(forKey: number)
  }

  mutating func noteTelling() { hasTold = !followers.isEmpty }

  /// Those that are to be called now.
  mutating func takeFollowers() -> [() -> Void] {
    hasTold = false
    return Array(followers.values)
  }

  mutating func setRecorder(_ new: ContextUndoManager?) { recorder = new }
}

extension ManagedObjectContext {
  /// Records what can be undone; nil unless it is set.
  @inline(__always) var recorder: ContextUndoManager? { eventObservers.recorder }
  /// Whether somebody is to hear of each write before it is done.
  @inline(__always) var hearsWrites: Bool { eventObservers.hearsWrites }

  /// Tells an observer at the end of each event what was changed in it, before notifications are posted.
  ///
  /// - Parameters:
  ///   - observer: Called in the context's isolation. It changes no object.
  ///   - afterwards: Called when the context is done with what it has told, once for one or several events. It may do whatever an application may.
  /// - Returns: The number that ``removeEventObserver(_:)`` takes.
  package func addEventObserver(_ observer: @escaping (ContextEvent) -> Void, afterwards: (() -> Void)? = nil) -> UInt64 {
    eventObservers.add(observer, afterwards: afterwards)
  }

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
    eventObservers.noteTelling()
    // An observer may come or go meanwhile.
    for observer in eventObservers.all { observer(event) }
  }

  /// The context is done with what it has told of.
  @inline(__always) func endTelling() {
    if eventObservers.hasTold { callFollowers() }
  }

  private func callFollowers() {
    for follower in eventObservers.takeFollowers() { follower() }
  }
}
