// ObjectObservation: who observes single objects of a context, and what each event tells them.
import ObjectModel
import ObjectStore
import Observation

/// The observers of single objects of a context: what of each object was read for Swift's Observation, and who waits for its changes.
///
/// Objects keep nothing of it: they have two flags, and what there is to know stands here, for those only that were read or are waited for.
final class ObjectObservation: ObjectObserving {
  /// What is known of an object's observers.
  private struct Entry {
    /// Knows who has read which property, once some property was read.
    var registrar: ObservationRegistrar?
    /// The slots that were read.
    var slots = SlotMask()
    /// The to-many relationships that were read.
    var toMany = SlotMask()
    /// Who waits for changes.
    var watches: [ObjectWatch] = []
  }

  /// What an event has changed of an object; nil where it may be anything.
  private struct Notice {
    let object: ManagedObject
    let entry: Entry
    var slots: SlotMask?
    var toMany: SlotMask?
    /// Whether the object has left the context, or is about to.
    var isLast = false
  }

  private var entries: [ObjectIdentifier: Entry] = [:]
  /// Objects that have left since the last event.
  private var leaving: [Notice] = []
  private(set) var wantsReads = false
  private let keyPaths = ObservedKeyPaths()

  // MARK: Objects

  func setWantsReads(_ wantsReads: Bool) { self.wantsReads = wantsReads }

  func noteRegistered(_ object: ManagedObject) {
    if wantsReads { object.beginTellingReads() }
  }

  func noteRead(_ property: ObservedProperty, of object: ManagedObject) {
    let key = ObjectIdentifier(object)
    let registrar: ObservationRegistrar
    if let index = entries.index(forKey: key) {
      registrar = note(property, in: &entries.values[index])
    } else {
      object.flags.insert(.isObserved)
      registrar = note(property, in: &entries[key, default: Entry()])
    }
    registrar.access(object, keyPath: keyPaths[property])
  }

  private func note(_ property: ObservedProperty, in entry: inout Entry) -> ObservationRegistrar {
    switch property {
    case .slot(let slot): entry.slots.insert(slot)
    case .members(let index): entry.toMany.insert(index)
    }
    if let registrar = entry.registrar { return registrar }
    let made = ObservationRegistrar()
    entry.registrar = made
    return made
  }

  /// Somebody waits for an object's changes.
  func add(_ watch: ObjectWatch, of object: ManagedObject) {
    object.flags.insert(.isObserved)
    entries[ObjectIdentifier(object), default: Entry()].watches.append(watch)
  }

  func noteLeaving(_ object: ManagedObject) {
    object.flags.remove(.isObserved)
    guard let entry = entries.removeValue(forKey: ObjectIdentifier(object)) else { return }
    leaving.append(Notice(object: object, entry: entry, isLast: true))
  }

  func noteDeath(of object: ObjectIdentifier) {
    guard let entry = entries.removeValue(forKey: object) else { return }
    for watch in entry.watches { watch.finish() }
  }

  /// Nobody is told of reads any more: what was read is forgotten.
  func forgetReads() {
    entries = entries.compactMapValues { $0.watches.isEmpty ? nil : Entry(watches: $0.watches) }
  }

  // MARK: Events

  /// Tells those who observe what an event has changed.
  func tell(_ event: ContextEvent) {
    if entries.isEmpty && leaving.isEmpty { return }
    tell(notices(of: event), isReset: event.kind == .reset)
    if event.kind == .saved, !event.inserted.isEmpty { for entry in entries.values { for watch in entry.watches { watch.renewIDs() } } }
  }

  func tellLeaving() {
    if !leaving.isEmpty { tell([], isReset: false) }
  }

  /// Tells of changed objects, and of those that have left.
  private func tell(_ changed: [Notice], isReset: Bool) {
    // Whoever is told may read, and observe, and take himself out.
    let notices = changed + leaving
    leaving = []
    for notice in notices {
      tellReaders(notice)
      tellWatches(notice, isReset: isReset)
    }
  }

  private func notices(of event: ContextEvent) -> [Notice] {
    var notices: [Notice] = []
    func add(_ object: ManagedObject, slots: SlotMask?, toMany: SlotMask?) {
      guard let entry = entries[ObjectIdentifier(object)] else { return }
      notices.append(Notice(object: object, entry: entry, slots: slots, toMany: toMany))
    }
    // What was saved was told when it was changed.
    if event.kind != .saved {
      for change in event.updated { add(change.object, slots: change.slots, toMany: change.toMany) }
      // Who has read a new object before its first event does not know what was set since.
      for object in event.inserted { add(object, slots: nil, toMany: nil) }
      for object in event.deleted { add(object, slots: nil, toMany: nil) }
    }
    for change in event.refreshed { add(change.object, slots: change.slots, toMany: change.toMany) }
    return notices
  }

  private func tellReaders(_ notice: Notice) {
    guard let registrar = notice.entry.registrar else { return }
    let entity = notice.object.compiledEntity
    func tell(_ read: SlotMask, below count: Int, _ changed: SlotMask?, _ property: (Int) -> ObservedProperty) {
      for number in read.slots(below: count) where changed?.contains(number) ?? true {
        let keyPath = keyPaths[property(number)]
        registrar.willSet(notice.object, keyPath: keyPath)
        registrar.didSet(notice.object, keyPath: keyPath)
      }
    }
    tell(notice.entry.slots, below: entity.slots.count, notice.slots) { .slot($0) }
    tell(notice.entry.toMany, below: entity.toManyRelationships.count, notice.toMany) { .members($0) }
  }

  private func tellWatches(_ notice: Notice, isReset: Bool) {
    var areAllThere = true
    for watch in notice.entry.watches {
      if notice.isLast { watch.end(isDeleted: !isReset) } else if !watch.tell(notice.slots, notice.toMany) { areAllThere = false }
    }
    if !areAllThere { entries[ObjectIdentifier(notice.object)]?.watches.removeAll(where: \.isOver) }
  }
}

/// The key paths by which Swift's Observation knows the properties of objects: one for each number, the same for all classes. Making one costs more than a
/// read, so they are kept.
private final class ObservedKeyPaths {
  private var slots: [KeyPath<ManagedObject, ObservedProperty>] = []
  private var members: [KeyPath<ManagedObject, ObservedProperty>] = []

  subscript(_ property: ObservedProperty) -> KeyPath<ManagedObject, ObservedProperty> {
    switch property {
    case .slot(let slot):
      while slots.count <= slot { slots.append(\ManagedObject.[observed: .slot(slots.count)]) }
      return slots[slot]
    case .members(let index):
      while members.count <= index { members.append(\ManagedObject.[observed: .members(members.count)]) }
      return members[index]
    }
  }
}

extension ManagedObject {
  /// What the key paths of observed properties lead to; nobody reads it.
  fileprivate subscript(observed property: ObservedProperty) -> ObservedProperty { property }
}
