package import ObjectModel
package import ObjectStore

/// The changes that an event has made in a context, object by object and slot by slot.
///
/// Each object is in one list only, except after a save: an updated object is also in `refreshed` if the store has computed some of its
/// values.
package struct ContextEvent {
  /// The kinds of events.
  package enum Kind: Sendable {
    /// Objects were changed in memory.
    case changed
    /// Changes were saved. An earlier event of the kind ``changed`` has reported them.
    case saved
    /// Changes of other contexts or processes, or of a batch request, were merged.
    case merged
    /// Objects were refreshed from the store.
    case refreshed
    /// Changes were rolled back.
    case rolledBack
    /// The context was reset: all objects have left it, and none is listed.
    case reset
  }

  /// An object and its changed properties.
  package struct Change {
    package let object: ManagedObject
    /// The slots of the changed attributes and to-one relationships; `nil` if any may have changed.
    package let slots: SlotMask?
    /// The indexes of the changed to-many relationships; `nil` if any may have changed.
    package let toMany: SlotMask?

    init(_ object: ManagedObject, slots: SlotMask?, toMany: SlotMask?) {
      (self.object, self.slots, self.toMany) = (object, slots, toMany)
    }
  }

  package let kind: Kind
  /// New objects. After a save they have their permanent IDs. After changes in memory, the list includes objects whose deletion was undone.
  package internal(set) var inserted: [ManagedObject] = []
  /// The IDs of objects that were inserted elsewhere and have no registered object in this context.
  package internal(set) var insertedIDs: [ManagedObjectID] = []
  /// The complete change set of a merge, including rows without a registered object.
  package internal(set) var merged: ChangeSet?
  /// Whether anything may have changed, including rows without a registered object.
  package internal(set) var isWhole = false
  /// Objects changed in this context.
  package internal(set) var updated: [Change] = []
  /// Deleted objects, and new objects that were discarded.
  package internal(set) var deleted: [ManagedObject] = []
  /// Objects that were refreshed from the store, or whose changes were discarded.
  package internal(set) var refreshed: [Change] = []

  /// After a merge: the properties with unsaved changes that were also changed elsewhere, by object.
  package internal(set) var overridden: [ManagedObjectID: Set<String>] = [:]

  init(_ kind: Kind) { self.kind = kind }

  package var isEmpty: Bool {
    kind != .reset && !isWhole && (merged?.isEmpty ?? true) && inserted.isEmpty && insertedIDs.isEmpty && updated.isEmpty && deleted.isEmpty
      && refreshed.isEmpty
  }

  /// Creates the event for objects that were changed in memory.
  init(endOf objects: [ManagedObject]) {
    self.init(.changed)
    for object in objects {
      let isAnnounced = object.flags.contains(.isAnnounced)
      if object.flags.contains(.isDeleted) {
        // Observers never learned of an object that was inserted and deleted in the same event.
        if isAnnounced || !object.flags.contains(.isInserted) { deleted.append(object) }
      } else if object.flags.contains(.isRestored) || object.flags.contains(.isInserted) && !isAnnounced {
        inserted.append(object)
      } else if object.flags.contains(.isInserted) || object.flags.contains(.isUpdated) {
        updated.append(
          Change(object, slots: object.overlay?.changedInEvent ?? SlotMask(), toMany: object.toManyIndexes(\.isChangedInEvent)))
      }
    }
  }

  /// Creates the event for a save that is about to begin.
  init(saving work: SaveSet) {
    self.init(.saved)
    inserted = work.inserted
    updated = work.updated.map { Change($0, slots: $0.overlay?.dirty ?? SlotMask(), toMany: $0.toManyIndexes(\.isChanged)) }
    deleted = work.deleted
  }

  /// Returns the event for a finished save, in which a merge policy may have removed or changed some objects.
  ///
  /// - Parameters:
  ///   - work: The objects that were saved.
  ///   - computed: Objects for which the store has computed values.
  ///   - merged: Objects that the merge policy has changed.
  func finished(_ work: SaveSet, computed: [ManagedObject], merged: [ManagedObject]) -> ContextEvent {
    var event = self
    let (inserted, deleted) = (Set(work.inserted), Set(work.deleted))
    event.inserted = work.inserted
    event.deleted = work.deleted
    event.updated.removeAll { inserted.contains($0.object) || deleted.contains($0.object) }
    var changes: [ManagedObject: Change] = [:]
    for object in computed where !inserted.contains(object) {
      changes[object] = Change(object, slots: object.compiledEntity.derivedSlots, toMany: SlotMask())
    }
    for object in merged { changes[object] = Change(object, slots: nil, toMany: nil) }
    event.refreshed = (computed + merged).compactMap { changes.removeValue(forKey: $0) }
    return event
  }

  /// Creates an event for objects of which any property may have changed.
  init(_ kind: Kind, refreshing objects: [ManagedObject]) {
    self.init(kind)
    refreshed = objects.map { Change($0, slots: nil, toMany: nil) }
  }
}

extension ManagedObject {
  /// Returns the indexes of the to-many relationships whose states meet a condition.
  final func toManyIndexes(_ condition: (ToManyState) -> Bool) -> SlotMask {
    var mask = SlotMask()
    for state in toManyStates where condition(state) { mask.insert(state.relationship.index) }
    return mask
  }
}

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
  ///   - completion: Called when the context has notified all observers, once for one or several events. It may use the context freely.
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
