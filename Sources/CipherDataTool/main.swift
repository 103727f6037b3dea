print("cipherdata")
