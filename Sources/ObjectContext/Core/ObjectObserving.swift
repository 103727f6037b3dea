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
  var wantsReads: Bool { get }

  /// Called when an object was registered in the context.
  func noteRegistered(_ object: ManagedObject)
  /// Called when a property of an object was read.
  func noteRead(_ property: ObservedProperty, of object: ManagedObject)
  /// Called when an observed object leaves the context. The notification of the current event reports this, or ``tellLeaving()`` follows.
  func noteLeaving(_ object: ManagedObject)
  /// Called when objects have left the context after the event's notification.
  func tellLeaving()
  /// Called when an observed object is being deallocated.
  func noteDeath(of object: ObjectIdentifier)
}

extension ManagedObject {
  /// Reports that the application reads an attribute or a to-one relationship.
  @inline(__always) final func noteRead(_ slot: Int) {
    if flags.contains(.tellsReads) { tellRead(.slot(slot)) }
  }

  /// Reports that the application reads a to-many relationship.
  @inline(__always) final func noteRead(toMany index: Int) {
    if flags.contains(.tellsReads) { tellRead(.members(index)) }
  }

  @inline(never) private final func tellRead(_ property: ObservedProperty) {
    managedObjectContext?.observation?.noteRead(property, of: self)
  }

  /// Starts reporting reads of the object. Reads no longer access its row directly.
  final func beginTellingReads() {
    flags.insert(.tellsReads)
    flags.remove(.writesInPlace)
    hideRow()
  }

  /// The row to read a property from after the read was reported; `nil` if the read takes the slow path.
  final var toldRow: UnsafeRawPointer? {
    guard flags.contains(.tellsReads), flags.isDisjoint(with: [.isFault, .isInaccessible]) else { return nil }
    if let overlay { return overlay.isWhole ? UnsafeRawPointer(overlay.row) : nil }
    return hasExternals ? nil : row
  }
}
