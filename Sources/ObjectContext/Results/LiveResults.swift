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
  /// Whether some result has a temporary ID, because no permanent one could be obtained.
  private var hasTemporaryIDs = false
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
  }

  /// Finds all results, in our order.
  func find() throws -> Found {
    hasTemporaryIDs = false
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
    return sorted(found)
  }

  /// Fetches all results without making objects, where one store has the answer and rows have the values.
  private func findRows(_ plan: FetchMergePlan) throws -> Found? {
    guard let slots = question.plainSlots, plan.split == nil, !plan.needsMerging, question.section == nil || question.plainSection != nil,
      !(question.plainSection?.isTransient ?? false), !slots.contains(where: \.isTransient)
    else { return nil }
    let store = plan.stores[0]
    var specification = plan.storeSpecification
    // In their order rows would be read from all over memory. What is sorted is what was read of them, which lies close together.
    if !question.hasWindow, let first = slots.first, question.order.hasWords(of: first.kind) { specification.sortDescriptors = [] }
    guard case .rows(let rows) = try context.rowSource.fetch(specification, from: store) else { return nil }
    let space = store.space.number
    var found = Found()
    found.ids.reserveCapacity(rows.count)
    if !question.hasWindow { found.values.reserveCapacity(rows.count * slots.count) }
    // Those of a section come one after the other once they are sorted.
    let sortedSection =
      question.hasWindow ? nil : question.plainSection.flatMap { section in slots.firstIndex { $0.index == section.index } }
    var namer = SectionNamer(names, question.sectionType)
    defer { names = namer.names }
    for position in rows.indices {
      let reference = rows.reference(position)
      found.ids.append(ManagedObjectID(space: space, entityNumber: UInt32(reference.entity), key: reference.key))
      if !question.hasWindow {
        for slot in slots { found.values.append(try rows.slot(slot.index, kind: slot.kind, at: position)) }
      }
      if let slot = question.plainSection, sortedSection == nil {
        found.sections.append(namer.number(of: try rows.slot(slot.index, kind: slot.kind, at: position)))
      }
    }
    found = sorted(found)
    if let sortedSection {
      found.sections = stride(from: sortedSection, to: found.values.count, by: slots.count).map {
        namer.number(of: found.values[$0])
      }
    }
    return found
  }

  /// Numbers of sections for one result after the other.
  private struct SectionNamer {
    private(set) var names: SectionNames
    private let type: ResolvedType
    private var last: (value: Slot, number: Int32)?

    init(_ names: SectionNames, _ type: ResolvedType) { (self.names, self.type) = (names, type) }

    mutating func number(of value: Slot) -> Int32 {
      let value = ResultsQuestion.sectionValue(value, type: type)
      if let last, last.value == value { return last.number }
      let number = names.number(of: value)
      last = (value, number)
      return number
    }
  }

  /// Results in our order, which differs from a fetch's where unsaved changes stand beside what is equal to them.
  private func sorted(_ found: Found) -> Found {
    if question.hasWindow { return found }
    let width = question.order.keyCount
    guard let positions = question.order.positions(of: found.ids, found.values) else { return found }
    var result = Found()
    result.ids = positions.map { found.ids[$0] }
    result.values.reserveCapacity(found.values.count)
    for position in positions {
      for index in position * width..<(position + 1) * width { result.values.append(found.values[index]) }
    }
    if !found.sections.isEmpty { result.sections = positions.map { found.sections[$0] } }
    return result
  }

  /// Takes all results.
  func load(_ found: Found) {
    list.load(found.ids, values: found.values, sections: found.sections)
    var names = names
    for section in found.sections { names.add(1, to: section) }
    self.names = names
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
    // Results with temporary IDs may have got permanent ones since, which changes name them by.
    if isOtherWindow || touched.isUnknown || hasTemporaryIDs {
      return try exchange(with: find(), touched, willChange: willChange)
    }
    return try apply(question.hasWindow ? touched.updates : ResultsInquiry(touched, self).decisions(), willChange: willChange)
  }
}
