# Writes mdav.csv and classes.csv next to this file, by sdcMicro 5.8.1 with R 4.2.2. All data are invented.
#
#     Rscript tests/shared/sdcmicro/oracle.R
#
# mdav.csv: rows x1 to x3 of several tables, and their means m1 to m3 by microaggregation() with MDAV, whose
# distances divide each column by its variance. classes.csv: items a to d of users, 0 where there is no rating; the
# users with equal rows (fk of freqCalc), and the distinct values of a among users with equal b, c and d (ldiversity).
library(sdcMicro)

argument <- grep("^--file=", commandArgs(), value = TRUE)
folder <- dirname(sub("^--file=", "", argument))
set.seed(39)

tables <- list()
for (shape in list(c(60, 4), c(61, 3), c(35, 9), c(30, 10))) {
  n <- shape[1]
  k <- shape[2]
  x <- round(data.frame(x1 = rnorm(n), x2 = 5 * rexp(n), x3 = runif(n, 0, 20)), 3)
  means <- microaggregation(x, method = "mdav", aggr = k)$mx
  names(means) <- c("m1", "m2", "m3")
  tables[[length(tables) + 1]] <- cbind(n = n, k = k, x, means)
}
write.csv(do.call(rbind, tables), file.path(folder, "mdav.csv"), row.names = FALSE, quote = FALSE)

users <- data.frame(
  a = sample(1:4, 90, replace = TRUE, prob = c(6, 3, 1, 1)),
  b = sample(0:2, 90, replace = TRUE),
  c = sample(0:1, 90, replace = TRUE),
  d = sample(c(0, 5), 90, replace = TRUE, prob = c(5, 1))
)
users$fk <- freqCalc(users, keyVars = c("a", "b", "c", "d"))$fk
distinct <- ldiversity(users, keyVars = c("b", "c", "d"), ldiv_index = "a")
users$distinct_a <- distinct[, "a_Distinct_Ldiversity"]
write.csv(users, file.path(folder, "classes.csv"), row.names = FALSE, quote = FALSE)
