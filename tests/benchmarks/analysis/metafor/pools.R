# Pool every pool of effects.csv with metafor and print the results as CSV (results.csv).
#
# mean, standard_error, tau2_lab, tau2_machine, q: rma.mv() with random labs and machines.
# robust_error: robust() with labs as clusters.
# low ... predicted_high: intervals by the reference prior, integrated here on a fine
# grid, because metafor has no Bayesian intervals.
suppressMessages(library(metafor))

input <- commandArgs(trailingOnly = TRUE)[1]
effects <- read.csv(input, stringsAsFactors = FALSE)

grid_step <- 0.15

reference_intervals <- function(y, v, lab, nested) {
    top <- log(1e5 * max(var(y), min(v)))
    logs <- seq(log(1e-5 * min(v)), top, by = if (nested) grid_step else grid_step / 4)
    machine_logs <- if (nested) logs else -Inf
    lab <- as.integer(factor(lab))
    per_lab <- function(x) as.vector(rowsum(x, lab))
    tau2_lab <- exp(logs)
    parts <- lapply(machine_logs, function(log_machine) {
        tau2_machine <- exp(log_machine)
        p <- 1 / (v + tau2_machine)
        s <- per_lab(p)
        lab_mean <- per_lab(p * y) / s
        log_weight <- 0
        if (nested) {
            s2 <- per_lab(p^2)
            s3 <- per_lab(p^3)
            information <- sum(s2 - 2 * s3 / s + (s2 / s)^2)
            log_weight <- (sum(log(p)) - sum(log(s)) - sum(p * (y - lab_mean[lab])^2)) / 2 +
                log(information) / 2 + log_machine
        }
        w <- 1 / outer(tau2_lab, 1 / s, "+")
        total <- rowSums(w)
        mean <- as.vector(w %*% lab_mean) / total
        q <- rowSums(w * outer(mean, lab_mean, "-")^2)
        information <- rowSums(w^2) - 2 * rowSums(w^3) / total + (rowSums(w^2) / total)^2
        likelihood <- (rowSums(log(w)) - log(total) - q) / 2
        data.frame(
            log_weight = log_weight + likelihood + log(information) / 2 + logs,
            mean = mean, variance = 1 / total, between = tau2_lab + tau2_machine
        )
    })
    nodes <- do.call(rbind, parts)
    nodes$weight <- exp(nodes$log_weight - max(nodes$log_weight))
    nodes <- nodes[nodes$weight > 1e-9, ]
    nodes$weight <- nodes$weight / sum(nodes$weight)
    quantiles <- function(variance) {
        deviation <- sqrt(variance)
        center <- sum(nodes$weight * nodes$mean)
        reach <- 10 * sqrt(sum(nodes$weight * (variance + (nodes$mean - center)^2)))
        sapply(c(0.025, 0.975), function(probability) {
            excess <- function(x) {
                sum(nodes$weight * pnorm((x - nodes$mean) / deviation)) - probability
            }
            uniroot(excess, center + c(-reach, reach), tol = 1e-10)$root
        })
    }
    c(quantiles(nodes$variance), quantiles(nodes$variance + nodes$between))
}

pool <- function(name) {
    rows <- effects[effects$pool == name, ]
    y <- rows$effect
    v <- rows$variance
    machine <- seq_along(y)
    lab <- if (length(unique(rows$lab)) == 1) machine else rows$lab
    nested <- length(unique(lab)) < length(y)
    random <- if (nested) ~ 1 | lab / machine else ~ 1 | lab
    fit <- rma.mv(y, v, random = random, test = "t",
        data = data.frame(lab, machine),
        control = list(rel.tol = 1e-10, iter.max = 1000, eval.max = 1000))
    errors <- robust(fit, cluster = lab)
    interval <- reference_intervals(y, v, lab, nested)
    data.frame(
        pool = name,
        mean = as.vector(fit$b), standard_error = fit$se,
        tau2_lab = fit$sigma2[1], tau2_machine = if (nested) fit$sigma2[2] else NA,
        log_likelihood = as.vector(logLik(fit)), q = fit$QE, robust_error = errors$se,
        low = interval[1], high = interval[2],
        predicted_low = interval[3], predicted_high = interval[4]
    )
}

results <- do.call(rbind, lapply(unique(effects$pool), pool))
numbers <- sapply(results, is.numeric)
results[numbers] <- lapply(results[numbers], function(x) ifelse(abs(x) < 1e-9, 0, signif(x, 7)))
write.csv(results, row.names = FALSE, quote = FALSE, na = "")
