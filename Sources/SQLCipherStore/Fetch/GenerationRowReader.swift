// GenerationRowReader: rows of a state that holds still, one at a time, for one context.
import ObjectModel
import ObjectStore
import SQLCipherConnection
import StoreKeys

/// Reads single rows of a generation; keeps the memory for the next one.
final class GenerationRowReader: RowReader {
  private let engine: StoreEngine
  private let generation: SnapshotGeneration
  private let writer: RowWriter
  // One caller at a time, and nothing here calls back.
  /// How rows of the entity that was asked for last are read.
  @exclusivity(unchecked) private var read: SingleRowRead?
  @exclusivity(unchecked) private var entity = -1

  init(_ engine: StoreEngine, of generation: SnapshotGeneration) {
    self.engine = engine
    self.generation = generation
    writer = engine.makeSingleRowWriter()
  }

  /// The state is always the same.
  func renew() {}

  func row(_ reference: ObjectReference) throws -> RowImage? {
    if entity != reference.entity {
      let table = try engine.schema.table(of: reference.entity)
      read = SingleRowRead(of: table, statements: engine.statements, trace: engine.trace)
      entity = reference.entity
    }
    defer { writer.forgetRows() }
    do {
      return try generation.read(checks: false) { try read?.row(reference.key, $0, into: writer) }
    } catch {
      writer.abandonRow()
      throw (error as? StoreAccessError).map { StoreError($0) } ?? error
    }
  }
}
