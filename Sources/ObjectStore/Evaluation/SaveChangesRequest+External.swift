import Foundation
package import ObjectModel

extension RowList {
  /// Whether any row may have external values.
  package var mayHaveExternals: Bool { chunks.contains { !$0.externals.isEmpty } }
}

extension SaveChangesRequest {
  /// Whether any row may have external values.
  package var mayHaveExternals: Bool {
    inserted.mayHaveExternals || updated.contains { $0.row.chunk.externals.isEmpty == false }
  }

  /// Returns the save with all bytes inside the rows. The content of the original external values is replaced by bytes in memory.
  package func withBytesInRows(_ model: CompiledModel) throws -> SaveChangesRequest {
    guard mayHaveExternals else { return self }
    let writer = RowWriter(rowCapacity: inserted.count + updated.count)
    for row in inserted { try writer.copyWithBytes(row, model) }
    for update in updated { try writer.copyWithBytes(update.row, model) }
    let rows = writer.finish()
    var result = self
    result.inserted = RowList((0..<inserted.count).map { rows[$0] })
    result.updated = updated.enumerated().map { index, update in
      var changed = Update(row: rows[inserted.count + index], changedSlots: update.changedSlots, oldVersion: update.oldVersion)
      changed.previousRow = update.previousRow
      return changed
    }
    return result
  }
}

extension RowWriter {
  fileprivate func copyWithBytes(_ row: RowImage, _ model: CompiledModel) throws {
    beginRow(entityNumber: row.entityNumber, slotCount: row.slotCount, key: row.key, version: row.version)
    for (slot, kind) in model.entities[row.entityNumber].kinds.enumerated() where !row.isNull(slot) {
      guard kind == .bytes, let external = row.external(slot) else {
        copy(slot, kind: kind, from: row)
        continue
      }
      let data = try external.data()
      external.replaceContent(ExternalBytes(data))
      data.withUnsafeBytes { setBytes($0, at: slot) }
    }
    endRow()
  }
}
