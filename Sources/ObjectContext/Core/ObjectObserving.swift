// ObjectObserving: what the objects of a context tell whoever observes single ones of them.

/// A property of an object, as observers know it: by its number.
enum ObservedProperty: Hashable {
  /// An attribute or a to-one relationship, by its slot.
  case slot(Int)
  /// A to-many relationship, by its index.
  case members(Int)
}

/// Observes single objects of a context, in its isolation. The context holds it.
protocol ObjectObserving: AnyObject {
  /// Whether objects tell which of their properties are read.
  var wantsReads: Bool { get }

  /// An object has joined the context.
  func noteRegistered(_ object: ManagedObject)
  /// A property of an object was read.
  func noteRead(_ property: ObservedProperty, of object: ManagedObject)
  /// An object that is observed leaves the context; an event that is about to be told tells of it, or ``tellLeaving()`` follows.
  func noteLeaving(_ object: ManagedObject)
  /// Objects have left after the event that has told of it.
  func tellLeaving()
  /// An object that was observed is no more.
  func noteDeath(of object: ObjectIdentifier)
}

extension ManagedObject {
  /// An attribute or a to-one relationship is read by the application.
  @inline(__always) final func noteRead(_ slot: Int) {
    if flags.contains(.tellsReads) { tellRead(.slot(slot)) }
  }

  /// A to-many relationship is read by the application.
  @inline(__always) final func noteRead(toMany index: Int) {
    if flags.contains(.tellsReads) { tellRead(.members(index)) }
  }

  @inline(never) private final func tellRead(_ property: ObservedProperty) {
    managedObjectContext?.observation?.noteRead(property, of: self)
  }

  /// From now on the object tells what is read of it: no read goes straight to its row.
  final func beginTellingReads() {
    flags.insert(.tellsReads)
    flags.remove(.writesInPlace)
    hideRow()
  }

  /// The row that a property is read from once the read was told; nil where there is more to do.
  final var toldRow: UnsafeRawPointer? {
    guard flags.contains(.tellsReads), flags.isDisjoint(with: [.isFault, .isInaccessible]) else { return nil }
    if let overlay { return overlay.isWhole ? UnsafeRawPointer(overlay.row) : nil }
    return hasExternals ? nil : row
  }
}
