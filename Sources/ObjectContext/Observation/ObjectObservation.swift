import ObjectModel
import ObjectStore
public import Observation

/// The observers of individual objects of a context: tracked reads for Swift Observation, and change sequences.
///
/// Objects store only two flags. All other state is stored here, and only for observed objects.
final class ObjectObservation: ObjectObserving {
  private struct Entry {
    /// The registrar that tracks reads; nil until a property has been read.
    var registrar: ObservationRegistrar?
    var slots = SlotMask()
    var toMany = SlotMask()
    var changeSources: [ObjectChangeSource] = []
  }

  /// The changes that an event made to an object. A nil mask means that any property may have changed.
  private struct Notice {
    let object: ManagedObject
    let entry: Entry
    var slots: SlotMask?
    var toMany: SlotMask?
    /// Whether the object has left the context or is about to.
    var isLast = false
  }

  private var entries: [ObjectIdentifier: Entry] = [:]
  /// The objects that have left the context since the last event.
  private var leaving: [Notice] = []
  private(set) var tracksReads = false
  private let keyPaths = ObservedKeyPaths()

  // MARK: Objects

  func setTracksReads(_ tracksReads: Bool) { self.tracksReads = tracksReads }

  func didRegister(_ object: ManagedObject) {
    if tracksReads { object.startReportingReads() }
  }

  func recordRead(_ property: ObservedProperty, of object: ManagedObject) {
    let key = ObjectIdentifier(object)
    let registrar: ObservationRegistrar
    if let index = entries.index(forKey: key) {
      registrar = record(property, in: &entries.values[index])
    } else {
      object.flags.insert(.isObserved)
      registrar = record(property, in: &entries[key, default: Entry()])
    }
    registrar.access(object, keyPath: keyPaths[property])
  }

  private func record(_ property: ObservedProperty, in entry: inout Entry) -> ObservationRegistrar {
    switch property {
    case .slot(let slot): entry.slots.insert(slot)
    case .members(let index): entry.toMany.insert(index)
    }
    if let registrar = entry.registrar { return registrar }
    let made = ObservationRegistrar()
    entry.registrar = made
    return made
  }

  func add(_ source: ObjectChangeSource, of object: ManagedObject) {
    object.flags.insert(.isObserved)
    entries[ObjectIdentifier(object), default: Entry()].changeSources.append(source)
  }

  func objectWillLeave(_ object: ManagedObject) {
    object.flags.remove(.isObserved)
    guard let entry = entries.removeValue(forKey: ObjectIdentifier(object)) else { return }
    leaving.append(Notice(object: object, entry: entry, isLast: true))
  }

  func objectWasDeallocated(of object: ObjectIdentifier) {
    guard let entry = entries.removeValue(forKey: object) else { return }
    for source in entry.changeSources { source.finish() }
  }

  func stopTrackingReads() {
    entries = entries.compactMapValues { $0.changeSources.isEmpty ? nil : Entry(changeSources: $0.changeSources) }
  }

  // MARK: Events

  /// Notifies the observers of an event's changes.
  func notify(_ event: ContextEvent) {
    if entries.isEmpty && leaving.isEmpty { return }
    notify(notices(of: event), isReset: event.kind == .reset)
    if event.kind == .saved, !event.inserted.isEmpty {
      for entry in entries.values { for source in entry.changeSources { source.updateIDs() } }
    }
  }

  func notifyLeaving() {
    if !leaving.isEmpty { notify([], isReset: false) }
  }

  /// Notifies the observers of changed objects and of objects that have left the context.
  private func notify(_ changed: [Notice], isReset: Bool) {
    // Copy first: an observer may read, add observers, or remove itself.
    let notices = changed + leaving
    leaving = []
    for notice in notices {
      notifyReaders(notice)
      notifyChangeSources(notice, isReset: isReset)
    }
  }

  private func notices(of event: ContextEvent) -> [Notice] {
    var notices: [Notice] = []
    func add(_ object: ManagedObject, slots: SlotMask?, toMany: SlotMask?) {
      guard let entry = entries[ObjectIdentifier(object)] else { return }
      notices.append(Notice(object: object, entry: entry, slots: slots, toMany: toMany))
    }
    // Saved changes were reported when they were made.
    if event.kind != .saved {
      for change in event.updated { add(change.object, slots: change.slots, toMany: change.toMany) }
      // A property of an inserted object may have been read and set again before its first event.
      for object in event.inserted { add(object, slots: nil, toMany: nil) }
      for object in event.deleted { add(object, slots: nil, toMany: nil) }
    }
    for change in event.refreshed { add(change.object, slots: change.slots, toMany: change.toMany) }
    return notices
  }

  private func notifyReaders(_ notice: Notice) {
    guard let registrar = notice.entry.registrar else { return }
    let entity = notice.object.compiledEntity
    func notify(_ read: SlotMask, below count: Int, _ changed: SlotMask?, _ property: (Int) -> ObservedProperty) {
      for number in read.slots(below: count) where changed?.contains(number) ?? true {
        let keyPath = keyPaths[property(number)]
        registrar.willSet(notice.object, keyPath: keyPath)
        registrar.didSet(notice.object, keyPath: keyPath)
      }
    }
    notify(notice.entry.slots, below: entity.slots.count, notice.slots) { .slot($0) }
    notify(notice.entry.toMany, below: entity.toManyRelationships.count, notice.toMany) { .members($0) }
  }

  private func notifyChangeSources(_ notice: Notice, isReset: Bool) {
    var areAllActive = true
    for source in notice.entry.changeSources {
      if notice.isLast { source.end(isDeleted: !isReset) } else if !source.notify(notice.slots, notice.toMany) { areAllActive = false }
    }
    if !areAllActive { entries[ObjectIdentifier(notice.object)]?.changeSources.removeAll(where: \.isFinished) }
  }
}

/// The key paths that identify observed properties for Swift Observation: one for each slot or index, shared by all classes. They are
/// cached because creating one takes longer than a read.
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
  /// The target of the key paths of observed properties. It is never read.
  fileprivate subscript(observed property: ObservedProperty) -> ObservedProperty { property }
}

/// An observed property of an object, by number.
enum ObservedProperty: Hashable {
  /// An attribute or a to-one relationship, by its slot.
  case slot(Int)
  /// A to-many relationship, by its index.
  case members(Int)
}

/// An observer of individual objects of a context, in the context's isolation. The context retains it.
protocol ObjectObserving: AnyObject {
  /// Whether the observer must be notified of property reads.
  var tracksReads: Bool { get }

  /// Called when an object was registered in the context.
  func didRegister(_ object: ManagedObject)
  /// Called when a property of an object was read.
  func recordRead(_ property: ObservedProperty, of object: ManagedObject)
  /// Called when an observed object leaves the context. The notification of the current event reports this, or ``notifyLeaving()`` follows.
  func objectWillLeave(_ object: ManagedObject)
  /// Called when objects have left the context after the event's notification.
  func notifyLeaving()
  /// Called when an observed object is being deallocated.
  func objectWasDeallocated(of object: ObjectIdentifier)
}

extension ManagedObject {
  /// Reports that the application reads an attribute or a to-one relationship.
  @inline(__always) final func recordRead(_ slot: Int) {
    if flags.contains(.reportsReads) { reportRead(.slot(slot)) }
  }

  /// Reports that the application reads a to-many relationship.
  @inline(__always) final func recordRead(toMany index: Int) {
    if flags.contains(.reportsReads) { reportRead(.members(index)) }
  }

  @inline(never) private final func reportRead(_ property: ObservedProperty) {
    managedObjectContext?.observation?.recordRead(property, of: self)
  }

  /// Starts reporting reads of the object. Reads no longer access its row directly.
  final func startReportingReads() {
    flags.insert(.reportsReads)
    flags.remove(.writesInPlace)
    hideRow()
  }

  /// The row to read a property from after the read was reported; `nil` if the read takes the slow path.
  final var observedRow: UnsafeRawPointer? {
    guard flags.contains(.reportsReads), flags.isDisjoint(with: [.isFault, .isInaccessible]) else { return nil }
    if let overlay { return overlay.isWhole ? UnsafeRawPointer(overlay.row) : nil }
    return hasExternals ? nil : row
  }
}

// MARK: - Conformance to Observable

/// Objects support property-level observation in contexts with ``ManagedObjectContext/tracksObservation``.
extension ManagedObject: Observable {}

extension ManagedObjectContext {
  /// Whether the objects of the context support Swift Observation. The default is false.
  ///
  /// ```swift
  /// container.viewContext.tracksObservation = true
  /// withObservationTracking {
  ///   label.text = book.title
  /// } onChange: {
  ///   Task { @MainActor in refresh() }
  /// }
  /// ```
  ///
  /// Reads of attributes, elements of composites, relationships, and their members are tracked, through typed properties and by key.
  /// Observers of a property are notified once per event if the application, a merge, a refresh, a rollback, values computed by a save, or
  /// the object's deletion changed it. The property already has its new value at that time. The object's ID, ``ManagedObject/isDeleted``,
  /// fetched properties, and ``ManagedObjectMembers/primitiveValue(forKey:)`` are not observed.
  ///
  /// With this option, events of the view context and of contexts nested in it end automatically as soon as the main actor is free. In
  /// other contexts, an event ends with `perform(_:)`, a fetch, a save, or ``processPendingChanges()``.
  ///
  /// A tracked read takes about 0.2 µs instead of nanoseconds. An object with tracked reads needs about 300 additional bytes until it is
  /// deallocated. Set the option before observing. Setting it to false discards all tracked reads without notifying their observers.
  public var tracksObservation: Bool {
    get { observation?.tracksReads ?? false }
    set {
      if newValue == tracksObservation { return }
      let observation = objectObservation
      observation.setTracksReads(newValue)
      if newValue {
        registry.forEach { $0.startReportingReads() }
        if let scheduleMerge { unitOfWork.setEventStartObserver(Self.observationNumber, scheduleMerge) }
      } else {
        registry.forEach { $0.stopReportingReads() }
        observation.stopTrackingReads()
        unitOfWork.setEventStartObserver(Self.observationNumber, nil)
      }
    }
  }

  /// The number of the observer that ends the events of observed contexts. Event observers have numbers starting at 1.
  private static var observationNumber: UInt64 { 0 }

  /// The observers of individual objects. Accessing this property registers them for the context's events.
  var objectObservation: ObjectObservation {
    if let known = observation as? ObjectObservation { return known }
    let made = ObjectObservation()
    observation = made
    _ = addEventObserver { [weak made] in made?.notify($0) }
    return made
  }
}

extension ManagedObject {
  fileprivate final func stopReportingReads() {
    flags.remove(.reportsReads)
    updateDirectRow()
  }
}
