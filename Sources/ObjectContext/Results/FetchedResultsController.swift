public import Foundation
public import ObjectModel
@_spi(Generated) public import ObjectQuery
import ObjectStore

/// A controller that keeps the results of a request up to date, in order and in sections, and reports their changes.
///
/// ```swift
/// let controller = FetchedResultsController(
///   fetchRequest: Book.all.where { $0.pages > 500 }.sorted { ($0.author.name, $0.title) },
///   context: container.viewContext, sectionNameKeyPath: "author.name")
/// try controller.performFetch()
/// for section in controller.sections ?? [] { print(section.name, section.numberOfObjects) }
/// for try await change in controller.changes() { print(change.inserted.map(\.indexPath)) }
/// ```
///
/// The results always match what a fetch would return. They reflect unsaved changes, rollbacks, and saves of nested contexts. They also
/// reflect saves of other contexts and processes, and batch requests, once the context has merged them
/// (``ManagedObjectContext/automaticallyMergesChangesFromParent``). Changes of related objects count if the predicate, the order, or the
/// sections depend on them, as with `author.name`, `ANY tags.name`, or a count. The results change at the end of an event
/// (``ManagedObjectContext/processPendingChanges()``).
///
/// Objects that compare equal in the request's order are ordered by ID, with inserted objects last. An inserted object that becomes a
/// result receives its permanent ID, so that the ID of a result never changes. A request with a limit or an offset is fetched again
/// whenever its results may have changed.
///
/// The controller stores the ID and the sort values of each result and retains no objects. The duration of an update depends on the size of
/// the change, and only logarithmically on the number of results. Objects in memory are not read from the store; one fetch reads all
/// others. The controller belongs to the isolation of its context and retains the context.
public final class FetchedResultsController<Object: ManagedObject> {
  /// The request. It is immutable: create another controller for another request.
  public let fetchRequest: FetchRequest<Object>
  /// The context of the results.
  public let managedObjectContext: ManagedObjectContext
  /// The expression whose value is the section name of a result; nil for no sections.
  public let sectionNameExpression: FetchExpression?
  /// The delegate that is notified of changes.
  public weak var delegate: (any FetchedResultsControllerDelegate<Object>)? {
    didSet {
      delegateTakesSnapshots = delegate.map { type(of: $0).takesSnapshots } ?? false
      forgetSections()
    }
  }
  /// Whether the delegate receives only snapshots.
  private var delegateTakesSnapshots = false
  /// The results; nil before they are fetched.
  private(set) var results: LiveResults?
  /// The changes that have not been processed yet.
  private var affected: AffectedResults?
  private var observerNumber: UInt64?
  private var isDelivering = false
  private var continuations: [AsyncThrowingStream<ResultsChange, any Error>.Continuation] = []
  private var snapshotContinuations: [AsyncThrowingStream<ResultsSnapshot, any Error>.Continuation] = []
  private var cachedSections: [FetchedResultsSectionInfo<Object>]?
  /// The results around the most recently accessed one, whose faults are loaded together.
  var page: (range: Range<Int>, group: UInt32)?

  /// Creates a controller with sections named by a key path. Fetches nothing.
  ///
  /// - Parameters:
  ///   - fetchRequest: The request. It must have a sort order.
  ///   - context: The context.
  ///   - sectionNameKeyPath: The dotted key path of the attribute whose value is the section name of a result; nil for no sections. The
  ///     sort order must keep the results of a section together: it starts with the same key path, or with one that results in the same
  ///     order.
  public convenience init(fetchRequest: FetchRequest<Object>, context: ManagedObjectContext, sectionNameKeyPath: String? = nil) {
    self.init(fetchRequest: fetchRequest, context: context, sectionNameExpression: sectionNameKeyPath.map { .keyPath($0) })
  }

  /// Creates a controller with sections named by a typed field, such as `{ $0.author.name }`. Fetches nothing.
  ///
  /// - Parameters:
  ///   - fetchRequest: The request. Its sort order must start with the field, or with one that results in the same order.
  ///   - context: The context.
  ///   - section: The field whose value is the section name of a result.
  public convenience init<Key: FetchSortable>(
    fetchRequest: FetchRequest<Object>, context: ManagedObjectContext, sectionName section: (FetchObject<Object, FetchDirect>) -> Key
  ) {
    self.init(
      fetchRequest: fetchRequest, context: context,
      sectionNameExpression: section(FetchObject(.evaluatedObject)).fetchSortDescriptor.expression)
  }

  /// Creates a controller with sections named by an expression. Fetches nothing.
  ///
  /// - Parameters:
  ///   - fetchRequest: The request. Its sort order must start with the expression, or with one that results in the same order.
  ///   - context: The context.
  ///   - sectionNameExpression: The expression whose value is the section name of a result; nil for no sections.
  public init(fetchRequest: FetchRequest<Object>, context: ManagedObjectContext, sectionNameExpression: FetchExpression?) {
    self.fetchRequest = fetchRequest
    managedObjectContext = context
    self.sectionNameExpression = sectionNameExpression
  }

  deinit {
    if let observerNumber { managedObjectContext.removeEventObserver(observerNumber) }
    finishStreams(nil)
  }

  // MARK: Fetching

  /// Fetches the results and keeps them up to date from then on. If they have been fetched before, reports the differences as a change.
  ///
  /// - Throws: ``ResultsError`` if the results cannot be kept up to date; ``FetchPredicateError`` for an invalid request; ``StoreError``
  ///   from the store.
  public func performFetch() throws {
    let context = managedObjectContext
    try context.checkClass(Object.self, for: fetchRequest.specification)
    try context.prepareFetch()
    guard results == nil else {
      affected?.invalidateAll()
      deliver()
      return try context.throwDeferredError()
    }
    let query = try ResultsQuery(fetchRequest.specification, section: sectionNameExpression, in: context)
    let fetched = try LiveResults(query, in: context)
    try context.throwDeferredError()
    results = fetched
    affected = AffectedResults(query)
    forgetSections()
    if observerNumber == nil {
      observerNumber = context.addEventObserver(
        { [weak self] event in self?.record(event) }, completion: { [weak self] in self?.deliver() })
    }
    sendSnapshot()
  }

  // MARK: Changes

  private func record(_ event: ContextEvent) { affected?.record(event, in: managedObjectContext) }

  /// Processes the recorded changes and reports the resulting change of the results.
  private func deliver() {
    // Changes made by a delegate are processed by the next iteration of the loop.
    if isDelivering { return }
    isDelivering = true
    defer { isDelivering = false }
    while let results, var taken = affected, !taken.isEmpty {
      affected = AffectedResults(results.query)
      taken.adoptPermanentIDs()
      do {
        let change = try results.update(by: taken) { if !delegateTakesSnapshots { delegate?.controllerWillChangeContent(self) } }
        if !change.isEmpty { notify(change, taken) }
      } catch let error as ResultsError {
        return end(error)
      } catch {
        // The next event retries.
        managedObjectContext.record(error)
        affected?.invalidateAll()
        return
      }
    }
  }

  private func notify(_ change: ResultsChange, _ affected: AffectedResults) {
    let observer = delegateTakesSnapshots ? nil : delegate
    let removed =
      observer == nil
      ? []
      : change.removedSections.map { section in
        FetchedResultsSectionInfo(name: section.name, indexTitle: indexTitle(ofSection: section.name), numberOfObjects: 0, controller: self)
      }
    forgetSections()
    if let observer {
      for (section, info) in zip(change.removedSections, removed) {
        observer.controller(self, didChange: info, atSectionIndex: section.index, for: .delete)
      }
      for section in change.insertedSections {
        guard let info = sections?[section.index] else { continue }
        observer.controller(self, didChange: info, atSectionIndex: section.index, for: .insert)
      }
      func object(_ id: ManagedObjectID) -> Object { self.object(with: id, known: affected.own[id]?.object) }
      for item in change.removed {
        observer.controller(self, didChange: object(item.objectID), at: item.indexPath, for: .delete, newIndexPath: nil)
      }
      for item in change.inserted {
        observer.controller(self, didChange: object(item.objectID), at: nil, for: .insert, newIndexPath: item.indexPath)
      }
      for kept in change.moved {
        observer.controller(self, didChange: object(kept.objectID), at: kept.oldIndexPath, for: .move, newIndexPath: kept.newIndexPath)
      }
      for kept in change.updated {
        observer.controller(self, didChange: object(kept.objectID), at: kept.oldIndexPath, for: .update, newIndexPath: kept.newIndexPath)
      }
      observer.controller(self, didChangeContentWith: change)
      observer.controllerDidChangeContent(self)
    }
    continuations.removeAll { continuation in
      if case .terminated = continuation.yield(change) { return true }
      return false
    }
    sendSnapshot()
  }

  private func end(_ error: ResultsError) {
    (results, affected) = (nil, nil)
    forgetSections()
    finishStreams(error)
    delegate?.controller(self, didFailWith: error)
  }

  private func finishStreams(_ error: ResultsError?) {
    for continuation in continuations { continuation.finish(throwing: error) }
    for continuation in snapshotContinuations { continuation.finish(throwing: error) }
    (continuations, snapshotContinuations) = ([], [])
  }

  /// Sends the current results to the delegate and to the streams that receive snapshots.
  private func sendSnapshot() {
    if snapshotContinuations.isEmpty, !delegateTakesSnapshots { return }
    let snapshot = snapshot
    if delegateTakesSnapshots { _ = delegate?.controller(self, didChangeContentWith: snapshot) }
    snapshotContinuations.removeAll { continuation in
      if case .terminated = continuation.yield(snapshot) { return true }
      return false
    }
  }

  /// Returns the changes of the results from now on, without omissions.
  ///
  /// The sequence ends with the controller. It throws ``ResultsError`` if the results can no longer be kept up to date. It can be consumed
  /// in any isolation.
  public func changes() -> AsyncThrowingStream<ResultsChange, any Error> {
    let (stream, continuation) = AsyncThrowingStream.makeStream(of: ResultsChange.self, throwing: (any Error).self)
    continuations.append(continuation)
    return stream
  }

  /// Returns the current results, followed by the results after each change.
  ///
  /// A slow consumer receives only the latest snapshot. The sequence ends and throws as ``changes()`` does. Creating a snapshot takes
  /// O(*n*) in the number of results.
  public func snapshots() -> AsyncThrowingStream<ResultsSnapshot, any Error> {
    let (stream, continuation) = AsyncThrowingStream.makeStream(
      of: ResultsSnapshot.self, throwing: (any Error).self, bufferingPolicy: .bufferingNewest(1))
    snapshotContinuations.append(continuation)
    if results != nil { continuation.yield(snapshot) }
    return stream
  }

  // MARK: Sections

  private func forgetSections() {
    cachedSections = nil
    page = nil
  }

  /// The sections, in order; nil before the results are fetched. Without section names, all results are in one section with an empty name.
  public var sections: [FetchedResultsSectionInfo<Object>]? {
    guard let results else { return nil }
    if let cachedSections { return cachedSections }
    let list = results.list
    let sections = (0..<list.sectionCount).map { index in
      let name = results.name(ofSection: list.name(ofSection: index))
      return FetchedResultsSectionInfo(
        name: name, indexTitle: indexTitle(ofSection: name), numberOfObjects: list.range(ofSection: index).count, controller: self)
    }
    cachedSections = sections
    return sections
  }

  private func indexTitle(ofSection name: String) -> String? {
    guard let delegate else { return defaultIndexTitle(ofSection: name) }
    return delegate.controller(self, sectionIndexTitleForSectionName: name)
  }

  func defaultIndexTitle(ofSection name: String) -> String? { name.first.map { String($0).uppercased() } }

  /// The distinct index titles of the sections, in order.
  public var sectionIndexTitles: [String] {
    var seen: Set<String> = []
    return (sections ?? []).compactMap(\.indexTitle).filter { seen.insert($0).inserted }
  }

  /// Returns the index of the first section with an index title; nil if there is none.
  public func section(forIndexTitle title: String) -> Int? { sections?.firstIndex { $0.indexTitle == title } }
}

// MARK: - Fetched objects

extension FetchedResultsController {
  /// The number of results; 0 before they are fetched.
  public var numberOfObjects: Int { results?.list.count ?? 0 }

  /// The results, in order; nil before they are fetched. Objects that are not in memory are faults that are loaded together.
  ///
  /// - Complexity: O(*n*) in the number of results.
  public var fetchedObjects: [Object]? { results.map { objects(in: 0..<$0.list.count) } }

  /// The IDs of the results, in order; nil before they are fetched.
  ///
  /// - Complexity: O(*n*) in the number of results.
  public var fetchedObjectIDs: [ManagedObjectID]? { results.map { $0.list.ids(in: 0..<$0.list.count) } }

  /// The IDs of the results by section; empty before they are fetched.
  ///
  /// - Complexity: O(*n*) in the number of results.
  public var snapshot: ResultsSnapshot {
    guard let results else { return ResultsSnapshot(sections: []) }
    let list = results.list
    return ResultsSnapshot(
      sections: (0..<list.sectionCount).map { section in
        ResultsSnapshot.Section(
          name: results.name(ofSection: list.name(ofSection: section)), itemIdentifiers: list.ids(in: list.range(ofSection: section)))
      })
  }

  // MARK: Access by position

  /// Returns the result at an index path; nil if there is none. An object that is not in memory is a fault that is loaded together with its
  /// neighbors.
  ///
  /// - Parameter indexPath: The section, and the position in the section.
  public func object(at indexPath: IndexPath) -> Object? {
    guard let position = position(of: indexPath), let results else { return nil }
    let id = results.list.id(at: position)
    if let object = managedObjectContext.registeredObject(for: id) { return object as? Object }
    if page?.range.contains(position) != true {
      let start = position / FaultGroups.faultBatch * FaultGroups.faultBatch
      let range = start..<min(start + FaultGroups.faultBatch, results.list.count)
      page = (range, managedObjectContext.faultGroup(of: results.list.ids(in: range)))
    }
    let object = object(with: id, known: nil)
    if let page { object.join(page.group, at: position - page.range.lowerBound) }
    return object
  }

  /// Returns the ID of the result at an index path; nil if there is none.
  public func objectID(at indexPath: IndexPath) -> ManagedObjectID? { position(of: indexPath).flatMap { results?.list.id(at: $0) } }

  /// Returns the index path of a result; nil if the object is not a result.
  public func indexPath(of object: Object) -> IndexPath? { indexPath(of: object.objectID) }

  /// Returns the index path of the result with an ID; nil if it is not a result.
  public func indexPath(of objectID: ManagedObjectID) -> IndexPath? {
    guard let list = results?.list, let position = list.position(of: objectID) else { return nil }
    let (section, item) = list.path(ofPosition: position)
    return IndexPath(indexes: [section, item])
  }

  private func position(of indexPath: IndexPath) -> Int? {
    guard let list = results?.list, indexPath.count == 2, (0..<list.sectionCount).contains(indexPath[0]) else { return nil }
    let range = list.range(ofSection: indexPath[0])
    return range.indices.contains(range.lowerBound + indexPath[1]) && indexPath[1] >= 0 ? range.lowerBound + indexPath[1] : nil
  }

  // MARK: Objects of sections

  func objects(inSection name: String) -> [Object] {
    guard let list = results?.list, let section = sections?.firstIndex(where: { $0.name == name }) else { return [] }
    return objects(in: list.range(ofSection: section))
  }

  private func objects(in range: Range<Int>) -> [Object] {
    guard let list = results?.list else { return [] }
    let ids = list.ids(in: range)
    let group = managedObjectContext.faultGroup(of: ids)
    return ids.enumerated().map { position, id in
      let object = object(with: id, known: nil)
      object.join(group, at: position)
      return object
    }
  }

  /// Returns the object with an ID.
  ///
  /// - Parameter known: The object, if the caller has it. The context no longer finds a deleted object.
  func object(with id: ManagedObjectID, known: ManagedObject?) -> Object {
    let object = known ?? managedObjectContext.object(with: id)
    // The class of every result was checked. Only an ID that is no longer valid yields a placeholder object.
    return object as? Object ?? managedObjectContext.invalidObject(Object.self, id)
  }
}

extension ManagedObjectContext {
  /// Creates a group of objects whose faults are loaded together; 0 if there are fewer than two objects or they are not saved in the same
  /// store.
  func faultGroup(of ids: [ManagedObjectID]) -> UInt32 {
    guard ids.count > 1, let first = ids.first, ids.allSatisfy({ $0.space == first.space && !$0.isTemporaryID }) else { return 0 }
    return faultGroups.add(ids.map(\.reference), space: first.space)
  }

  /// Throws the recorded error, if it has not been thrown yet.
  func throwDeferredError() throws { try deferredErrors.throwRecorded() }
}
