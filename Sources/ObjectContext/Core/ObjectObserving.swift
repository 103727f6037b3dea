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
