public import Observation

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
