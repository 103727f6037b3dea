// FetchedResultsController: the results of a request, kept up to date.
import Foundation
import ObjectModel
public import ObjectQuery
import ObjectStore

/// The results of a request, in order and in sections, which stay what a fetch would find, and tell how they change.
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
/// Everything counts: unsaved changes, saves of other contexts and processes and batch requests once the context has merged them
/// (``ManagedObjectContext/automaticallyMergesChangesFromParent``), rollbacks, what nested contexts save, and changes of other objects that the predicate, the order or the sections ask
/// about, such as `author.name`, `ANY tags.name` or a count. Results change at the end of an event (``ManagedObjectContext/processPendingChanges()``).
///
/// Objects that are equal in the request's order stand in that of their IDs, new ones last. A new object that becomes a result gets its permanent ID, so that no result's ID ever
/// changes. A request with a limit or an offset is fetched again where its results may have changed.
///
/// The controller holds of each result its ID and the values that it is sorted by, and keeps no object alive. A change takes time by its own size, however many results there are, and reads
/// nothing of objects that are in memory; those that are not are asked for by one fetch. The controller lives in the isolation of its context, which it holds.
public final class FetchedResultsController<Object: ManagedObject> {
  /// What is fetched. It cannot be changed: make another controller for another request.
  public let fetchRequest: FetchRequest<Object>
  /// The context.
  public let managedObjectContext: ManagedObjectContext
  /// What names the sections; nil where there are none.
  public let sectionNameExpression: FetchExpression?
  /// Told of changes.
  public weak var delegate: (any FetchedResultsControllerDelegate<Object>)? {
    didSet {
      delegateTakesSnapshots = delegate.map { type(of: $0).takesSnapshots } ?? false
      forgetSections()
    }
  }
  /// Whether the delegate is told by snapshots, and by nothing else.
  private var delegateTakesSnapshots = false
  /// The results; nil until they are fetched.
  private(set) var results: LiveResults?
  /// What was changed and not looked at.
  private var touched: TouchedResults?
  private var observerNumber: UInt64?
  private var isDelivering = false
  private var continuations: [AsyncThrowingStream<ResultsChange, any Error>.Continuation] = []
  private var snapshotContinuations: [AsyncThrowingStream<ResultsSnapshot, any Error>.Continuation] = []
  private var knownSections: [FetchedResultsSectionInfo<Object>]?
  /// The results around the one that was asked for last, which are read together.
  var page: (range: Range<Int>, group: UInt32)?

  /// Makes a controller that has fetched nothing yet.
  ///
  /// - Parameters:
  ///   - fetchRequest: What is fetched. It needs an order.
  ///   - context: The context.
  ///   - sectionNameKeyPath: The dotted path of the attribute that names a result's section; nil for no sections. The order has to put the results of each section together: it begins with the same path, or
  ///     with one that gives the same order.
  public convenience init(fetchRequest: FetchRequest<Object>, context: ManagedObjectContext, sectionNameKeyPath: String? = nil) {
    self.init(fetchRequest: fetchRequest, context: context, sectionNameExpression: sectionNameKeyPath.map { .keyPath($0) })
  }

  /// Makes a controller with sections named by a typed field, such as `{ $0.author.name }`, which has fetched nothing yet.
  ///
  /// - Parameters:
  ///   - fetchRequest: What is fetched. It needs an order, which begins with the field or one that gives the same order.
  ///   - context: The context.
  ///   - section: The field that names a result's section.
  public convenience init<Key: FetchSortable>(
    fetchRequest: FetchRequest<Object>, context: ManagedObjectContext, sectionName section: (FetchObject<Object, FetchDirect>) -> Key
  ) {
    self.init(
      fetchRequest: fetchRequest, context: context,
      sectionNameExpression: section(FetchObject(.evaluatedObject))._fetchSortDescriptor.expression)
  }

  /// Makes a controller with sections named by an expression, which has fetched nothing yet.
  ///
  /// - Parameters:
  ///   - fetchRequest: What is fetched. It needs an order, which begins with the expression or one that gives the same order.
  ///   - context: The context.
  ///   - sectionNameExpression: What names a result's section; nil for no sections.
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

  /// Fetches the results, and keeps them up to date from then on. Where they were fetched before, what has changed since is told as a change.
  ///
  /// - Throws: ``ResultsError`` where they cannot be kept up to date, ``FetchPredicateError`` for what cannot be asked, ``StoreError`` from the store.
  public func performFetch() throws {
    let context = managedObjectContext
    try context.checkClass(Object.self, for: fetchRequest.specification)
    try context.prepareFetch()
    guard results == nil else {
      touched?.noteEverything()
      deliver()
      return try context.tellNotedErrors()
    }
    let question = try ResultsQuestion(fetchRequest.specification, section: sectionNameExpression, in: context)
    let fetched = try LiveResults(question, in: context)
    try context.tellNotedErrors()
    results = fetched
    touched = TouchedResults(question)
    forgetSections()
    if observerNumber == nil {
      observerNumber = context.addEventObserver(
        { [weak self] event in self?.note(event) }, afterwards: { [weak self] in self?.deliver() })
    }
    tellSnapshot()
  }

  // MARK: Changes

  private func note(_ event: ContextEvent) { touched?.note(event, in: managedObjectContext) }

  /// Looks at what was touched, and tells what has changed.
  private func deliver() {
    // What changes while somebody is told is told next.
    if isDelivering { return }
    isDelivering = true
    defer { isDelivering = false }
    while let results, var taken = touched, !taken.isEmpty {
      touched = TouchedResults(results.question)
      taken.adoptPermanentIDs()
      do {
        let change = try results.update(by: taken) { if !delegateTakesSnapshots { delegate?.controllerWillChangeContent(self) } }
        if !change.isEmpty { tell(change, taken) }
      } catch let error as ResultsError {
        return end(error)
      } catch {
        // The next event tries again.
        managedObjectContext.note(error)
        touched?.noteEverything()
        return
      }
    }
  }

  private func tell(_ change: ResultsChange, _ touched: TouchedResults) {
    let told = delegateTakesSnapshots ? nil : delegate
    let removed =
      told == nil
      ? []
      : change.removedSections.map { section in
        FetchedResultsSectionInfo(name: section.name, indexTitle: indexTitle(ofSection: section.name), numberOfObjects: 0, controller: self)
      }
    forgetSections()
    if let told {
      for (section, info) in zip(change.removedSections, removed) {
        told.controller(self, didChange: info, atSectionIndex: section.index, for: .delete)
      }
      for section in change.insertedSections {
        guard let info = sections?[section.index] else { continue }
        told.controller(self, didChange: info, atSectionIndex: section.index, for: .insert)
      }
      func object(_ id: ManagedObjectID) -> Object { self.object(with: id, known: touched.own[id]?.object) }
      for item in change.removed {
        told.controller(self, didChange: object(item.objectID), at: item.indexPath, for: .delete, newIndexPath: nil)
      }
      for item in change.inserted {
        told.controller(self, didChange: object(item.objectID), at: nil, for: .insert, newIndexPath: item.indexPath)
      }
      for kept in change.moved {
        told.controller(self, didChange: object(kept.objectID), at: kept.oldIndexPath, for: .move, newIndexPath: kept.newIndexPath)
      }
      for kept in change.updated {
        told.controller(self, didChange: object(kept.objectID), at: kept.oldIndexPath, for: .update, newIndexPath: kept.newIndexPath)
      }
      told.controller(self, didChangeContentWith: change)
      told.controllerDidChangeContent(self)
    }
    continuations.removeAll { continuation in
      if case .terminated = continuation.yield(change) { return true }
      return false
    }
    tellSnapshot()
  }

  /// Nothing is kept up to date any more.
  private func end(_ error: ResultsError) {
    (results, touched) = (nil, nil)
    forgetSections()
    finishStreams(error)
    delegate?.controller(self, didFailWith: error)
  }

  private func finishStreams(_ error: ResultsError?) {
    for continuation in continuations { continuation.finish(throwing: error) }
    for continuation in snapshotContinuations { continuation.finish(throwing: error) }
    (continuations, snapshotContinuations) = ([], [])
  }

  /// Tells those that take whole results what they are now.
  private func tellSnapshot() {
    if snapshotContinuations.isEmpty, !delegateTakesSnapshots { return }
    let snapshot = snapshot
    if delegateTakesSnapshots { _ = delegate?.controller(self, didChangeContentWith: snapshot) }
    snapshotContinuations.removeAll { continuation in
      if case .terminated = continuation.yield(snapshot) { return true }
      return false
    }
  }

  /// The changes of the results from now on, none of which is left out. The sequence ends with the controller, and throws ``ResultsError`` where the results are kept up to date no more. It may be
  /// read in any isolation.
  public func changes() -> AsyncThrowingStream<ResultsChange, any Error> {
    let (stream, continuation) = AsyncThrowingStream.makeStream(of: ResultsChange.self, throwing: (any Error).self)
    continuations.append(continuation)
    return stream
  }

  /// The results as they are, and then as they are after changes: whoever is slow gets the newest only. The sequence ends and throws as ``changes()`` does. A snapshot takes time by the number of the
  /// results.
  public func snapshots() -> AsyncThrowingStream<ResultsSnapshot, any Error> {
    let (stream, continuation) = AsyncThrowingStream.makeStream(
      of: ResultsSnapshot.self, throwing: (any Error).self, bufferingPolicy: .bufferingNewest(1))
    snapshotContinuations.append(continuation)
    if results != nil { continuation.yield(snapshot) }
    return stream
  }

  // MARK: Sections

  private func forgetSections() {
    knownSections = nil
    page = nil
  }

  /// The sections, in order; nil until the results are fetched. Results without sections are in one, which has no name.
  public var sections: [FetchedResultsSectionInfo<Object>]? {
    guard let results else { return nil }
    if let knownSections { return knownSections }
    let list = results.list
    let sections = (0..<list.sectionCount).map { index in
      let name = results.name(ofSection: list.name(ofSection: index))
      return FetchedResultsSectionInfo(
        name: name, indexTitle: indexTitle(ofSection: name), numberOfObjects: list.range(ofSection: index).count, controller: self)
    }
    knownSections = sections
    return sections
  }

  private func indexTitle(ofSection name: String) -> String? {
    guard let delegate else { return defaultIndexTitle(ofSection: name) }
    return delegate.controller(self, sectionIndexTitleForSectionName: name)
  }

  /// The first letter of a name, in upper case.
  func defaultIndexTitle(ofSection name: String) -> String? { name.first.map { String($0).uppercased() } }

  /// What stands for the sections in an index beside a list, each once, in their order.
  public var sectionIndexTitles: [String] {
    var seen: Set<String> = []
    return (sections ?? []).compactMap(\.indexTitle).filter { seen.insert($0).inserted }
  }

  /// The place of the first section with an index title; nil where there is none.
  public func section(forIndexTitle title: String) -> Int? { sections?.firstIndex { $0.indexTitle == title } }
}
