// Autosave: a context that saves itself some time after the last change.
import Synchronization

/// A context's saving by itself, from ``ManagedObjectContext/autosaves(after:clock:isolation:onError:)`` on until ``end()``, or until nobody holds this any more.
///
/// It belongs to the context's isolation, and holds the context.
public final class Autosave {
  private let work: any AutosaveWork

  init(_ work: any AutosaveWork) { self.work = work }

  deinit { work.end() }

  /// Saves what is not saved yet, and ends. An error goes to the handler; the changes stay in the context.
  public func end() { work.end() }

  /// Something else than the context is to be saved: the time begins anew.
  func noteChanges() { work.noteChanges() }
}

extension ManagedObjectContext {
  /// Saves the context by itself: some time after the last change, and at the end.
  ///
  /// ```swift
  /// let autosave = container.viewContext.autosaves(after: .seconds(2)) { error in
  ///   show(error)
  /// }
  /// ```
  ///
  /// Each event with changes begins the time anew; an event that nobody ends does so as soon as its isolation has nothing else to do. The save runs in the
  /// context's isolation, when nothing else runs there. Whoever changes objects, waits for something and changes more may find the first part saved.
  ///
  /// Nothing is lost by an error: the changes stay, and are saved with the next ones, or at the end. A change holds the context until it is saved.
  ///
  /// - Parameters:
  ///   - delay: How long after the last change.
  ///   - clock: What measures the time.
  ///   - isolation: The context's isolation, which is the caller's; nothing is to be given. ``ContextActor/autosaves(after:clock:onError:)`` is for contexts of
  ///     such actors, and a context in no actor's isolation has nobody who could save it.
  ///   - onError: Called with what a save has thrown, in the context's isolation.
  /// - Returns: What ends it: hold it as long as the context is to save itself.
  public func autosaves(
    after delay: Duration, clock: some Clock<Duration> = ContinuousClock(), isolation: isolated any Actor = #isolation,
    onError: @escaping (any Error) -> Void
  ) -> Autosave {
    autosaves(after: delay, clock: clock, isolation: isolation, saving: { try $0.save() }, onError: onError)
  }

  /// Saves the context by itself, in a way of its own.
  func autosaves(
    after delay: Duration, clock: some Clock<Duration>, isolation: isolated any Actor,
    saving: @escaping (ManagedObjectContext) throws -> Void, onError: @escaping (any Error) -> Void
  ) -> Autosave {
    let work = IsolatedAutosave(self, QuietTimer(clock, delay: delay), isolation, saving, onError)
    work.begin()
    return Autosave(work)
  }
}

/// What is behind an autosave.
protocol AutosaveWork: AnyObject {
  func end()
  func noteChanges()
}

/// The saving of a context in the isolation that it was made in.
private final class IsolatedAutosave<TimerClock: Clock>: AutosaveWork where TimerClock.Duration == Duration {
  private let context: ManagedObjectContext
  private let timer: QuietTimer<TimerClock>
  private let isolation: any Actor
  private let saving: (ManagedObjectContext) throws -> Void
  private let onError: (any Error) -> Void
  /// Its number among the context's event observers; nil once it has ended.
  private var number: UInt64?

  init(
    _ context: ManagedObjectContext, _ timer: QuietTimer<TimerClock>, _ isolation: any Actor,
    _ saving: @escaping (ManagedObjectContext) throws -> Void, _ onError: @escaping (any Error) -> Void
  ) {
    self.context = context
    self.timer = timer
    self.isolation = isolation
    self.saving = saving
    self.onError = onError
  }

  func begin() {
    let number = context.addEventObserver { [weak self] event in
      if event.kind == .changed { self?.noteChanges() }
    }
    self.number = number
    context.unitOfWork.setBeginningObserver(number) { [weak self] in self?.endEventSoon() }
    if context.hasChanges { noteChanges() }
  }

  func end() {
    guard let number else { return }
    self.number = nil
    context.removeEventObserver(number)
    context.unitOfWork.setBeginningObserver(number, nil)
    timer.cancel()
    save()
  }

  private func endEventSoon() {
    let lent = LentAutosave(work: self)
    Task.detached { [isolation] in await lent.endEvent(in: isolation) }
  }

  func noteChanges() {
    let lent = LentAutosave(work: self)
    timer.noteEvent { [isolation] in await lent.save(in: isolation) }
  }

  fileprivate func endEvent() {
    if number != nil { context.processPendingChanges() }
  }

  fileprivate func saveInTime() {
    if number != nil { save() }
  }

  private func save() {
    do {
      // What a save changes itself is saved with it, or has failed with it.
      try timer.withoutEvents { try saving(context) }
    } catch {
      onError(error)
    }
  }
}

/// An autosave on its way into the isolation that it belongs to.
///
/// `@unchecked Sendable`: it is touched in that isolation only.
private struct LentAutosave<TimerClock: Clock>: @unchecked Sendable where TimerClock.Duration == Duration {
  let work: IsolatedAutosave<TimerClock>

  func endEvent(in isolation: isolated any Actor) { work.endEvent() }
  func save(in isolation: isolated any Actor) { work.saveInTime() }
}
