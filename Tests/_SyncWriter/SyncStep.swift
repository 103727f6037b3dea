import CipherData
import Foundation
import _ProofStore
import _TestSupport

/// One random save.
struct SyncStep: Sendable {
  private let log: SyncLogFile
  private let seed: UInt64

  /// The numbers of objects from which more is deleted than inserted.
  private static let most = (notes: 80, folders: 20)

  init(_ log: SyncLogFile, seed: UInt64) { (self.log, self.seed) = (log, seed) }

  /// An object whose two values were not written together.
  private struct TornObject: Error { var description: String }

  func run(in context: ManagedObjectContext) throws {
    var random = SeededGenerator(seed: seed)
    let folders = try objects("Folder", in: context)
    let notes = try objects("Note", in: context)
    var save = SyncSave(number: log.newNumber())
    switch Int.random(in: 0..<100, using: &random) {
    case ..<4 where !folders.isEmpty: deleteFolder(&save, folders, &random, in: context)
    case ..<12 where !notes.isEmpty: deleteNotes(&save, notes, &random, in: context)
    case ..<15 where !notes.isEmpty: return try deleteBatch(&save, notes, &random, in: context)
    case ..<19 where !notes.isEmpty: return try updateBatch(&save, notes, &random, in: context)
    case ..<24 where !folders.isEmpty: try changeCover(&save, folders, &random, in: context)
    case ..<36 where !notes.isEmpty: try moveNotes(&save, notes, folders, &random)
    case ..<42 where folders.count > 1: try moveFolder(&save, folders, &random)
    case ..<72 where !notes.isEmpty: try update(&save, notes + folders, &random)
    default:
      if notes.count > Self.most.notes {
        deleteNotes(&save, notes, &random, in: context)
      } else {
        try insertNotes(&save, folders, &random, in: context)
      }
    }
    if save.isEmpty { return }
    try log.perform(save, isRefusal: Self.refusal) {
      try context.save()
      return true
    }
  }

  /// Returns whether an error means that another process, or an import, was first.
  private static func refusal(_ error: any Error) -> String? {
    guard let error = error as? StoreError else { return nil }
    switch error.code {
    case .busy, .mergeConflict, .objectNotFound: return "\(error.code)"
    default: return nil
    }
  }

  private func objects(_ entity: String, in context: ManagedObjectContext) throws -> [ManagedObject] {
    let found = try context.fetch(FetchRequest<ManagedObject>(entityName: entity)).sorted { $0.key < $1.key }
    for object in found where object["text"] as? String != "\(object.number("value"))" {
      throw TornObject(description: "\(object.key) has the value \(object.number("value")) and the text \(object["text"] ?? "nil")")
    }
    return found
  }

  // MARK: Changes

  /// Writes the number of the save to an object.
  private func setValue(_ object: ManagedObject, _ save: inout SyncSave, isNew: Bool = false) throws {
    save.writes.append(SyncWrite(object: object.key, register: .value, replaced: isNew ? nil : object.number("value")))
    try object.setValue(save.number, forKey: "value")
    try object.setValue("\(save.number)", forKey: "text")
  }

  /// Moves an object.
  private func setPlace(_ object: ManagedObject, _ container: ManagedObject?, _ save: inout SyncSave, isNew: Bool = false) throws {
    save.writes.append(
      SyncWrite(object: object.key, register: .place, replaced: isNew ? nil : object.number("place"), container: container?.key))
    try object.setValue(save.number, forKey: "place")
    try object.setValue(container, forKey: "container")
  }

  @discardableResult
  private func insert(
    _ entity: String, in container: ManagedObject?, _ save: inout SyncSave, in context: ManagedObjectContext
  ) throws -> ManagedObject {
    let object = try context.insertObject(entityName: entity)
    try object.setValue(SyncSave.key(of: entity, log.newNumber()), forKey: "key")
    save.inserted.append(object.key)
    try setValue(object, &save, isNew: true)
    try setPlace(object, container, &save, isNew: true)
    return object
  }

  private func insertNotes(
    _ save: inout SyncSave, _ folders: [ManagedObject], _ random: inout SeededGenerator, in context: ManagedObjectContext
  ) throws {
    var folder = folders.randomElement(using: &random)
    if folder == nil || folders.count < Self.most.folders && Int.random(in: 0..<4, using: &random) == 0 {
      let container = Bool.random(using: &random) ? folder : nil
      folder = try insert("Folder", in: container, &save, in: context)
    }
    for _ in 0..<Int.random(in: 1...3, using: &random) { try insert("Note", in: folder, &save, in: context) }
  }

  private func update(_ save: inout SyncSave, _ objects: [ManagedObject], _ random: inout SeededGenerator) throws {
    for object in objects.shuffled(using: &random).prefix(Int.random(in: 1...3, using: &random)) { try setValue(object, &save) }
  }

  private func moveNotes(
    _ save: inout SyncSave, _ notes: [ManagedObject], _ folders: [ManagedObject], _ random: inout SeededGenerator
  ) throws {
    guard let folder = folders.randomElement(using: &random) else { return }
    for note in notes.shuffled(using: &random).prefix(Int.random(in: 1...3, using: &random)) where note.container != folder {
      try setPlace(note, folder, &save)
      if Bool.random(using: &random) { try setValue(note, &save) }
    }
  }

  private func moveFolder(_ save: inout SyncSave, _ folders: [ManagedObject], _ random: inout SeededGenerator) throws {
    // Folders are only moved into older ones, so that none contains itself. Their keys are in this order.
    let index = Int.random(in: 1..<folders.count, using: &random)
    let container = Int.random(in: 0..<4, using: &random) == 0 ? nil : folders[Int.random(in: 0..<index, using: &random)]
    if folders[index].container != container { try setPlace(folders[index], container, &save) }
  }

  private func changeCover(
    _ save: inout SyncSave, _ folders: [ManagedObject], _ random: inout SeededGenerator, in context: ManagedObjectContext
  ) throws {
    guard let folder = folders.randomElement(using: &random) else { return }
    let covers = try objects("Cover", in: context)
    if covers.count < 8 {
      // A folder that has a cover loses it.
      try insert("Cover", in: folder, &save, in: context)
    } else if let cover = covers.randomElement(using: &random) {
      if Bool.random(using: &random) {
        if cover.container != folder { try setPlace(cover, folder, &save) }
      } else {
        save.deleted.append(cover.key)
        context.delete(cover)
      }
    }
  }

  private func deleteFolder(
    _ save: inout SyncSave, _ folders: [ManagedObject], _ random: inout SeededGenerator, in context: ManagedObjectContext
  ) {
    guard let folder = folders.randomElement(using: &random) else { return }
    let notes = folder["notes"] as? Set<ManagedObject> ?? []
    // Deletions of folders excuse that notes are missing which were moved into them, so that there are few.
    guard notes.count < 8 else { return }
    save.deleted = [folder.key] + notes.map(\.key)
    context.delete(folder)
  }

  private func deleteNotes(
    _ save: inout SyncSave, _ notes: [ManagedObject], _ random: inout SeededGenerator, in context: ManagedObjectContext
  ) {
    for note in notes.shuffled(using: &random).prefix(Int.random(in: 1...2, using: &random)) {
      save.deleted.append(note.key)
      context.delete(note)
    }
  }

  // MARK: Batch requests

  private func updateBatch(
    _ save: inout SyncSave, _ notes: [ManagedObject], _ random: inout SeededGenerator, in context: ManagedObjectContext
  ) throws {
    let chosen = notes.shuffled(using: &random).prefix(Int.random(in: 1...10, using: &random))
    save.writes = chosen.map { SyncWrite(object: $0.key, register: .value, replaced: $0.number("value")) }
    let request = BatchUpdateRequest(
      entityName: "Note", predicate: try FetchPredicate(format: "key IN %@", chosen.map(\.key)),
      propertiesToUpdate: ["value": save.number, "text": "\(save.number)"])
    try log.perform(save, isRefusal: Self.refusal) { try context.execute(request).updatedCount == chosen.count }
  }

  private func deleteBatch(
    _ save: inout SyncSave, _ notes: [ManagedObject], _ random: inout SeededGenerator, in context: ManagedObjectContext
  ) throws {
    let chosen = notes.shuffled(using: &random).prefix(Int.random(in: 1...3, using: &random))
    save.deleted = chosen.map(\.key)
    let request = BatchDeleteRequest(entityName: "Note", predicate: try FetchPredicate(format: "key IN %@", save.deleted))
    try log.perform(save, isRefusal: Self.refusal) {
      try context.execute(request)
      return true
    }
  }
}
