// LiveResults: the results of a request in a context, and what becomes of them when something has changed.
import ObjectModel
import ObjectQuery
import ObjectStore

/// The results of a request, brought in step with what has changed. It holds their IDs and what they are sorted by, and no objects.
final class LiveResults {
  let context: ManagedObjectContext
  let question: ResultsQuestion
  let list: ResultList
  var names = SectionNames()
  /// Whether some result has no permanent ID: there is none to be had.
  private(set) var hasTemporaryIDs = false
  /// Objects whose rows others have deleted, and which have stayed with their unsaved changes.
  private var outliving: Set<ManagedObjectID> = []

  /// Fetches results.
  init(_ question: ResultsQuestion, in context: ManagedObjectContext) throws {
    self.context = context
    self.question = question
    list = ResultList(question.order, isSectioned: question.section != nil)
    let found = try find()
    try checkSections(found.sections)
    load(found)
  }

  // MARK: All results

  /// All results, as a fetch finds them.
  struct Found {
    var ids: [ManagedObjectID] = []
    /// The values of one result after the other.
    var values: [Slot] = []
    /// The numbers of the sections; empty where there are none.
    var sections: [Int32] = []

    /// Adds one of other results.
    mutating func append(_ index: Int, of other: Found, width: Int) {
      ids.append(other.ids[index])
      values += other.values[index * width..<(index + 1) * width]
      if !other.sections.isEmpty { sections.append(other.sections[index]) }
    }
  }

  /// Finds all results.
  func find() throws -> Found {
    let found = try fetch()
    let unsaved = TouchedResults(unsavedIn: context, question)
    if unsaved.isEmpty { return sorted(found) }
    // A store knows nothing of unsaved changes of other objects that results depend on.
    let decisions = try ResultsInquiry(unsaved, self).decisions()
    let decided = Set(decisions.map(\.id))
    var all = Found()
    for (index, id) in found.ids.enumerated() where !decided.contains(id) { all.append(index, of: found, width: question.order.keyCount) }
    for case .result(let item) in decisions.map(\.outcome) {
      all.ids.append(item.id)
      all.values += item.values
      if question.section != nil { all.sections.append(item.section) }
    }
    return sorted(all)
  }

  /// Fetches all results.
  private func fetch() throws -> Found {
    let plan = try FetchMergePlan(question.specification, context: context)
    if let found = try findRows(plan) { return found }
    let objects = try context.settledObjects(of: question.specification)
    givePermanentIDs(to: objects)
    var found = Found()
    found.ids.reserveCapacity(objects.count)
    found.values.reserveCapacity(objects.count * question.order.keyCount)
    for object in objects {
      found.ids.append(object.currentID)
      found.values += try question.values(of: object)
      if question.section != nil { found.sections.append(names.number(of: try question.section(of: object))) }
    }
    return found
  }

  /// Fetches all results without making objects, where one store has the answer and rows have the values.
  private func findRows(_ plan: FetchMergePlan) throws -> Found? {
    guard let slots = question.plainSlots, plan.split == nil, !plan.needsMerging, question.section == nil || question.plainSection != nil,
      !(question.plainSection?.isTransient ?? false), !slots.contains(where: \.isTransient)
    else { return nil }
    let store = plan.stores[0]
    guard case .rows(let rows) = try context.rowSource.fetch(plan.storeSpecification, from: store) else { return nil }
    let (space, type) = (store.space.number, question.sectionType)
    var found = Found()
    found.ids.reserveCapacity(rows.count)
    if !question.hasWindow { found.values.reserveCapacity(rows.count * slots.count) }
    if question.section != nil { found.sections.reserveCapacity(rows.count) }
    var last: (value: Slot, number: Int32)?
    for position in rows.indices {
      let row = rows[position]
      found.ids.append(ManagedObjectID(space: space, entityNumber: UInt32(row.entityNumber), key: row.key))
      if !question.hasWindow {
        for slot in slots { found.values.append(try row.slot(slot.index, kind: slot.kind)) }
      }
      if let slot = question.plainSection {
        let value = ResultsQuestion.sectionValue(try row.slot(slot.index, kind: slot.kind), type: type)
        // Those of a section come one after the other.
        if last?.value != value { last = (value, names.number(of: value)) }
        if let last { found.sections.append(last.number) }
      }
    }
    return found
  }

  /// Results in our order, which differs from a fetch's where unsaved changes stand beside what is equal to them.
  private func sorted(_ found: Found) -> Found {
    if question.hasWindow { return found }
    let width = question.order.keyCount
    func order(_ left: Int, _ right: Int) -> Int {
      question.order.compare(
        found.values[left * width..<(left + 1) * width], found.ids[left], found.values[right * width..<(right + 1) * width],
        found.ids[right])
    }
    if found.ids.indices.dropFirst().allSatisfy({ order($0 - 1, $0) < 0 }) { return found }
    var result = Found()
    for index in found.ids.indices.sorted(by: { order($0, $1) < 0 }) { result.append(index, of: found, width: width) }
    return result
  }

  /// Takes all results.
  func load(_ found: Found) {
    list.load(found.ids, values: found.values, sections: found.sections)
    for section in found.sections { names.add(1, to: section) }
  }

  /// Throws unless the results of each section stand together.
  func checkSections(_ sections: [Int32]) throws(ResultsError) {
    var seen: Set<Int32> = []
    var last: Int32?
    for section in sections where section != last {
      last = section
      if !seen.insert(section).inserted { throw outOfOrder }
    }
  }

  var outOfOrder: ResultsError {
    .sectionsOutOfOrder(section: question.section.map { "\($0)" } ?? "", entity: question.entity.name)
  }

  /// Gives permanent IDs to results that were never saved: so no result ever has another ID than it had.
  func givePermanentIDs(to objects: [ManagedObject]) {
    let new = objects.filter(\.currentID.isTemporaryID)
    if new.isEmpty { return }
    // Where there are no IDs to be had, the save says why.
    do { try context.obtainPermanentIDs(for: new) } catch { hasTemporaryIDs = true }
  }

  /// Whether an object has stayed for its unsaved changes only, and has given them up: whether there is a row of it, the store has to be asked.
  ///
  /// - Parameter wasDeleted: Whether others have deleted its row just now.
  func isGoneBelow(_ object: ManagedObject, wasDeleted: Bool) -> Bool {
    if object.hasChanges {
      if wasDeleted { outliving.insert(object.currentID) }
      return false
    }
    return !outliving.isEmpty && outliving.remove(object.currentID) != nil
  }

  /// The name of a section.
  func name(ofSection number: Int32) -> String { question.section == nil ? "" : question.name(ofSection: names.value(of: number)) }

  // MARK: Changes

  /// Brings the results in step with what was touched.
  ///
  /// - Parameters:
  ///   - touched: What was touched.
  ///   - willChange: Called before the results are changed, if they are.
  /// - Throws: What reading throws, and ``ResultsError/sectionsOutOfOrder(section:entity:)``; then the results are of no use any more.
  func update(by touched: TouchedResults, willChange: () -> Void) throws -> ResultsChange {
    if touched.isEmpty { return ResultsChange() }
    // A window shows nothing of the objects outside, which may be in it now.
    let isOtherWindow = question.hasWindow && (touched.hasRelevantChanges || touched.hasRelatedChanges)
    if isOtherWindow || touched.isWhole(savedTemporaryIDs: hasTemporaryIDs) {
      return try exchange(with: find(), touched, willChange: willChange)
    }
    return try apply(question.hasWindow ? touched.updates : ResultsInquiry(touched, self).decisions(), willChange: willChange)
  }
}
